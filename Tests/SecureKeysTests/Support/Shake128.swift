/// SHAKE128 (FIPS 202), for the accumulated vectors of XAES-256-GCM; swift-crypto has none.
struct Shake128 {
    private static let rate = 168
    private var lanes = [UInt64](repeating: 0, count: 25)
    private var position = 0
    private var isSqueezing = false

    mutating func absorb(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            lanes[position / 8] ^= UInt64(byte) << UInt64(position % 8 * 8)
            position += 1
            if position == Self.rate { permute() }
        }
    }

    mutating func squeeze(_ count: Int) -> [UInt8] {
        if !isSqueezing {
            isSqueezing = true
            lanes[position / 8] ^= 0x1f << UInt64(position % 8 * 8)
            lanes[Self.rate / 8 - 1] ^= 0x80 << 56
            permute()
        }
        return (0..<count).map { _ in
            if position == Self.rate { permute() }
            defer { position += 1 }
            return UInt8(truncatingIfNeeded: lanes[position / 8] >> UInt64(position % 8 * 8))
        }
    }

    private mutating func permute() {
        position = 0
        lanes.withUnsafeMutableBufferPointer { Self.permute($0) }
    }

    private static func permute(_ a: UnsafeMutableBufferPointer<UInt64>) {
        var register: UInt8 = 1
        for _ in 0..<24 {
            // θ
            var parity: (UInt64, UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0, 0)
            withUnsafeMutableBytes(of: &parity) { raw in
                let c = raw.bindMemory(to: UInt64.self)
                for x in 0..<5 { c[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20] }
                for x in 0..<5 {
                    let d = c[(x + 4) % 5] ^ rotate(c[(x + 1) % 5], 1)
                    for y in stride(from: 0, to: 25, by: 5) { a[x + y] ^= d }
                }
            }
            // ρ and π
            var (x, y) = (1, 0)
            var current = a[1]
            for step in 0..<24 {
                (x, y) = (y, (2 * x + 3 * y) % 5)
                (current, a[x + 5 * y]) = (
                    a[x + 5 * y], rotate(current, (step + 1) * (step + 2) / 2 % 64)
                )
            }
            // χ
            for y in stride(from: 0, to: 25, by: 5) {
                let (r0, r1, r2, r3, r4) = (a[y], a[y + 1], a[y + 2], a[y + 3], a[y + 4])
                a[y] = r0 ^ (~r1 & r2)
                a[y + 1] = r1 ^ (~r2 & r3)
                a[y + 2] = r2 ^ (~r3 & r4)
                a[y + 3] = r3 ^ (~r4 & r0)
                a[y + 4] = r4 ^ (~r0 & r1)
            }
            // ι: its constants come from a shift register.
            for j in 0..<7 {
                if register & 1 == 1 { a[0] ^= 1 << UInt64((1 << j) - 1) }
                register = register << 1 ^ (register >> 7 == 1 ? 0x71 : 0)
            }
        }
    }

    private static func rotate(_ value: UInt64, _ count: Int) -> UInt64 {
        count == 0 ? value : value << UInt64(count) | value >> UInt64(64 - count)
    }
}
