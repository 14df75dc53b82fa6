package import SecureStorage

/// The key of a row as bytes: the same for all keys that SQLite treats as equal.
///
/// Keys are ordered by their bytes, the same on every member.
package struct RowKey: Hashable, Sendable, Comparable {
    package let bytes: [UInt8]

    package init(_ values: [SQLiteValue]) {
        var writer = CBORWriter(capacity: 24)
        writer.array(values.count)
        for value in values { writer.stored(value.folded("BINARY")) }
        bytes = writer.bytes
    }

    init(bytes: [UInt8]) { self.bytes = bytes }

    /// The values; nil for bytes that are not a key.
    func values() -> [SQLiteValue]? {
        var reader = CBORReader(bytes)
        do {
            let count = try reader.array()
            return try (0..<count).map { _ in try reader.stored() }
        } catch { return nil }
    }

    package static func < (left: RowKey, right: RowKey) -> Bool {
        left.bytes.lexicographicallyPrecedes(right.bytes)
    }
}
