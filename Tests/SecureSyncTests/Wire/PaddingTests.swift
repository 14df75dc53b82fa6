import SecureSync
import TestSupport
import Testing

struct PaddingTests {
    @Test func `sizes are those of Padmé`() {
        let sizes = [
            0: 0, 1: 1, 2: 2, 3: 3, 8: 8, 9: 10, 10: 10, 100: 104, 1000: 1024, 1025: 1088,
            1_000_000: 1_015_808,
        ]
        for (count, size) in sizes { check(Padding.paddedCount(count), equals: size) }
    }

    @Test func `no size is smaller, or more than an eighth larger, and padding it changes nothing`()
    {
        for count in Array(0..<5000) + (13..<60).flatMap({ [1 << $0 - 1, 1 << $0, 1 << $0 + 1] }) {
            let size = Padding.paddedCount(count)
            check(size >= count)
            check(Double(size) <= Double(count) * 1.125)
            check(Padding.paddedCount(size), equals: size)
        }
    }

    @Test func `a content of any length is found again`() {
        for count in 0..<2000 {
            let content = (0..<count).map { UInt8(truncatingIfNeeded: count % 3 == 0 ? 0 : $0) }
            check(Padding.removed(from: Padding.padded(content)), equals: content)
        }
    }

    @Test(arguments: [
        [], [0], [1], [0x80, 0], [0, 0, 0], [1, 0x81], [0x80] + Array(repeating: 0, count: 100),
    ])
    func `another padding is refused`(_ bytes: [UInt8]) {
        check(Padding.removed(from: bytes) == nil)
    }
}
