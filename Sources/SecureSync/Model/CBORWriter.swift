/// Writes CBOR ([RFC 8949](https://www.rfc-editor.org/rfc/rfc8949)) in its deterministic form
/// (section 4.2): shortest lengths, definite ones only.
package struct CBORWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    package mutating func unsigned(_ value: UInt64) { head(0, value) }

    package mutating func signed(_ value: Int64) {
        if value >= 0 { head(0, UInt64(value)) } else { head(1, UInt64(~value)) }
    }

    package mutating func data(_ value: some Collection<UInt8>) {
        head(2, UInt64(value.count))
        bytes.append(contentsOf: value)
    }

    package mutating func text(_ value: String) {
        var value = value
        value.withUTF8 {
            head(3, UInt64($0.count))
            bytes.append(contentsOf: $0)
        }
    }

    /// Begins an array of `count` items, which follow.
    package mutating func array(_ count: Int) { head(4, UInt64(count)) }

    package mutating func bool(_ value: Bool) { bytes.append(value ? 0xf5 : 0xf4) }

    package mutating func null() { bytes.append(0xf6) }

    /// A floating-point number, in the shortest form that keeps its value; NaN has one form.
    package mutating func double(_ value: Double) {
        switch CBORFloat(value) {
        case .half(let bits):
            bytes.append(0xf9)
            big(bits)
        case .single(let bits):
            bytes.append(0xfa)
            big(bits)
        case .double(let bits):
            bytes.append(0xfb)
            big(bits)
        }
    }

    /// Appends another writer's bytes.
    package mutating func append(_ other: CBORWriter) { bytes += other.bytes }

    private mutating func head(_ major: UInt8, _ value: UInt64) {
        switch value {
        case 0..<24: bytes.append(major << 5 | UInt8(value))
        case 24...0xff:
            bytes.append(major << 5 | 24)
            bytes.append(UInt8(value))
        case 0x100...0xffff:
            bytes.append(major << 5 | 25)
            big(UInt16(value))
        case 0x1_0000...0xffff_ffff:
            bytes.append(major << 5 | 26)
            big(UInt32(value))
        default:
            bytes.append(major << 5 | 27)
            big(value)
        }
    }

    private mutating func big(_ value: some FixedWidthInteger) {
        withUnsafeBytes(of: value.bigEndian) { bytes.append(contentsOf: $0) }
    }
}
