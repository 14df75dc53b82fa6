import Foundation
import SecureStorage

/// A key-value store with one row that is written around the store, as whoever has the file can.
final class KeyValueRow {
    let store: SecureDatabaseStore
    let values: SecureKeyValueStore

    static let key = "key"
    /// Where what was read is put again.
    static let copy = "copy"

    init(_ name: String) throws {
        let file = try Scratch.folder(name).appendingPathComponent("values.db")
        store = SecureDatabaseStore(url: file)
        try store.open(with: .raw(SecretBytes.random(count: 32)))
        values = try SecureKeyValueStore(databaseStore: store, name: "fuzz")
        // Never committed: no input waits for a disk.
        try store.beginTransaction()
    }

    /// Writes the row: `value` as `:value` in `expression`, and any kind, not only those that there
    /// are.
    func write(
        _ value: (any SQLiteDatatypeBridgeable)?, as expression: String = ":value",
        kind: any SQLiteDatatypeBridgeable, expires: (any SQLiteDatatypeBridgeable)? = nil
    ) throws {
        try store.executeUpdate(
            """
            INSERT OR REPLACE INTO securestorage_kv_1 (key, kind, value, expires)
            VALUES ('\(Self.key)', :kind, \(expression), :expires)
            """, parameterDictionary: ["value": value, "kind": kind, "expires": expires])
    }

    /// What `body` reads; nil for a value of another type, which is the one error that is promised.
    func read<R>(_ body: (SecureKeyValueStore) throws -> R?) throws -> R? {
        try Self.converting { try body(values) } ?? nil
    }

    static func converting<R>(_ body: () throws -> R) throws -> R? {
        try allowing(
            SecureStorageError.self, where: { $0 == .typeConversionFailed }, body)
    }
}
