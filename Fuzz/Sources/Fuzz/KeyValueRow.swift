import Foundation
import SecureStorage

/// A key-value store with a row that is written without the store, as anyone with the file could
/// do.
final class KeyValueRow {
    let store: SecureDatabaseStore
    let values: SecureKeyValueStore

    static let key = "key"
    /// The key under which a value that was read is stored again.
    static let copy = "copy"

    init(_ name: String) throws {
        let file = try Scratch.folder(name).appendingPathComponent("values.db")
        // No input waits for a disk.
        var configuration = SecureDatabaseConfiguration()
        configuration.synchronous = .normal
        store = SecureDatabaseStore(url: file, configuration: configuration)
        try store.open(with: .raw(SecretBytes.random(count: 32)))
        values = try SecureKeyValueStore(databaseStore: store, name: "fuzz")
    }

    /// Writes the row, with `value` as `:value` in `expression`, and any kind, not only valid ones.
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

    /// Returns the result of `body`, or nil for a value of another type, the only error that is
    /// promised.
    func read<R>(_ body: (SecureKeyValueStore) throws -> R?) throws -> R? {
        try Self.converting { try body(values) } ?? nil
    }

    static func converting<R>(_ body: () throws -> R) throws -> R? {
        try allowing(
            SecureStorageError.self, where: { $0 == .typeConversionFailed }, body)
    }
}
