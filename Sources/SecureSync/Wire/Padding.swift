/// Padding for sealed content, so that its size reveals little.
///
/// Padmé, by Nikitin and others ([2019](https://doi.org/10.2478/popets-2019-0056)): sizes whose
/// binary form ends with zeros, at most 12 % more.
package enum Padding {
    /// The padded size for a content of `count` bytes.
    package static func paddedCount(_ count: Int) -> Int {
        guard count > 2 else { return count }
        let exponent = Int.bitWidth - 1 - count.leadingZeroBitCount
        let bits = Int.bitWidth - exponent.leadingZeroBitCount
        let mask = (1 << max(0, exponent - bits)) - 1
        return (count + mask) & ~mask
    }

    /// Appends a byte 0x80, and zeros up to the size.
    package static func padded(_ content: [UInt8]) -> [UInt8] {
        let size = paddedCount(content.count + 1)
        return content + [0x80] + [UInt8](repeating: 0, count: size - content.count - 1)
    }

    /// Returns the content; nil if the padding is not from `padded`.
    package static func removed(from bytes: [UInt8]) -> [UInt8]? {
        guard let end = bytes.lastIndex(where: { $0 != 0 }), bytes[end] == 0x80,
            paddedCount(end + 1) == bytes.count
        else { return nil }
        return [UInt8](bytes[..<end])
    }
}
