internal import Crypto
internal import Foundation
internal import SecureStorage

/// A digest of a database's content: its schema and each row of its tables, regardless of their
/// pages.
///
/// Two states of a vault are the same if their digests are: a counter in the file would have to be
/// incremented by every writer.
enum ContentDigest {
    /// Computes the digest, without the table that counts backups.
    static func of(_ store: SecureDatabaseStore) throws -> SHA256.Digest {
        var hash = SHA256()
        var tables: [String] = []
        let schema = try store.executeQuery(
            """
            SELECT type, name, coalesce(sql, '') FROM sqlite_schema
            WHERE name NOT LIKE 'sqlite\\_stat%' ESCAPE '\\' AND tbl_name <> 'securestorage_vault'
            ORDER BY type, name
            """)
        while try schema.next() {
            let texts = (0..<3).map { schema.string(forColumnIndex: $0) ?? "" }
            for text in texts { update(&hash, 3, Data(text.utf8)) }
            // The content of a virtual table is in separate tables.
            let isVirtual = texts[2].uppercased().hasPrefix("CREATE VIRTUAL")
            if texts[0] == "table", !isVirtual { tables.append(texts[1]) }
        }
        schema.close()
        for table in tables {
            update(&hash, 3, Data(table.utf8))
            let quoted = "\"" + table.replacingOccurrences(of: "\"", with: "\"\"") + "\""
            // In key order: an index may have another order.
            let rows = try store.executeQuery("SELECT * FROM \(quoted) NOT INDEXED")
            while try rows.next() {
                for column in 0..<rows.columnCount {
                    try update(&hash, rows, column)
                }
            }
            rows.close()
        }
        return hash.finalize()
    }

    private static func update(
        _ hash: inout SHA256, _ rows: SecureDatabaseResultSet, _ column: Int
    ) throws {
        switch try rows.type(forColumnIndex: column) {
        case .null: update(&hash, 0, Data())
        case .integer:
            let value = rows.int64(forColumnIndex: column) ?? 0
            withUnsafeBytes(of: value.bigEndian) { update(&hash, 1, $0) }
        case .real:
            let value = rows.double(forColumnIndex: column) ?? 0
            withUnsafeBytes(of: value.bitPattern.bigEndian) { update(&hash, 2, $0) }
        case .text: _ = rows.withUnsafeBytes(forColumnIndex: column) { update(&hash, 3, $0) }
        case .blob: _ = rows.withUnsafeBytes(forColumnIndex: column) { update(&hash, 4, $0) }
        }
    }

    private static func update(_ hash: inout SHA256, _ type: UInt8, _ bytes: some ContiguousBytes) {
        bytes.withUnsafeBytes { bytes in
            withUnsafeBytes(of: (UInt64(type) << 56 | UInt64(bytes.count)).bigEndian) {
                hash.update(bufferPointer: $0)
            }
            hash.update(bufferPointer: bytes)
        }
    }
}
