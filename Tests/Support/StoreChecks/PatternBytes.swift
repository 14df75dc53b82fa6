package import Foundation
internal import TestSupport

/// Content that shows by itself whether it is whole, and the one of its name.
package enum PatternBytes {
    /// Returns the content of a name: its length, and numbers that follow from the name.
    package static func of(_ name: String, count: Int) -> Data {
        var seed = UInt64(count)
        for byte in name.utf8 { seed = seed &* 31 &+ UInt64(byte) }
        var numbers = SplitMix64(seed: seed)
        var data = withUnsafeBytes(of: UInt64(count).bigEndian) { Data($0) }
        for _ in 0..<(count / 8) {
            withUnsafeBytes(of: numbers.next()) { data.append(contentsOf: $0) }
        }
        return data
    }

    /// Whether these are all bytes of the name's content.
    package static func isWhole(_ data: Data, of name: String) -> Bool {
        guard data.count >= 8 else { return false }
        let count = data.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        return count < 1 << 30 && data == of(name, count: Int(count))
    }
}
