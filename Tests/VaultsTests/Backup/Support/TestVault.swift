import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// A vault with a sealed column in a separate directory, as an app would have it on one device.
final class TestVault: Sendable {
    let place: TemporaryDatabase
    let keyStore: any KeyStore
    let data: DataEncryptionKey

    static let names = VaultKeyNames(database: "db", keyEncryption: "kek")
    static let secret = Data(Marker.text.utf8)

    var url: URL { place.url }
    var backup: URL { place.directory.appendingPathComponent("vault.backup") }

    /// Creates an empty device, with no database file and no key yet.
    init(emptyWith keyStore: any KeyStore = InMemoryKeyStore()) throws {
        place = try TemporaryDatabase()
        self.keyStore = keyStore
        data = try DataEncryptionKey.random(name: "passwords")
    }

    /// Creates a vault of `rows` rows of about 1 KiB each.
    convenience init(rows: Int, keyStore: any KeyStore = InMemoryKeyStore()) throws {
        try self.init(emptyWith: keyStore)
        try keyStore.store(SecretBytes.random(count: 32), forName: Self.names.database)
        try withStore { try Self.fill($0, rows, data) }
    }

    static func fill(_ store: SecureDatabaseStore, _ rows: Int, _ key: DataEncryptionKey) throws {
        try store.executeStatements(
            """
            CREATE TABLE login (id INTEGER PRIMARY KEY, name TEXT, secret BLOB);
            CREATE TABLE wrapped (name TEXT PRIMARY KEY, keys BLOB);
            CREATE TABLE counter (id INTEGER PRIMARY KEY, count INTEGER);
            """)
        try store.beginExclusiveTransaction()
        for id in 0..<rows {
            let sealed = try key.seal(
                secret, table: "login", column: "secret", row: .integer(Int64(id)))
            let padding = String(
                decoding: Data(RandomBytes.make(500)).map { $0 & 63 | 64 }, as: UTF8.self)
            try store.executeUpdate(
                "INSERT INTO login VALUES (?, ?, ?)", id, Marker.text + padding + padding, sealed)
        }
        try store.commit()
    }

    func key() throws -> DatabaseKey { .raw(try keyStore.read(Self.names.database)) }

    func withStore<R>(_ body: (SecureDatabaseStore) throws -> R) throws -> R {
        let store = place.store()
        try store.open(with: key()) { _ in nil }
        defer { store.close() }
        return try body(store)
    }

    func withQueue<R>(_ body: (SecureDatabaseQueue) throws -> R) throws -> R {
        try withStore { try body(SecureDatabaseQueue(databaseStore: $0)) }
    }

    /// Restores as an app does, storing the wrapped keys in the database.
    @discardableResult
    func restore(
        _ backup: URL, _ source: any KeyEncryptionKeySource,
        replacing: VaultReplacement = .nothing,
        progress: FileProgress.Handler = { _ in }
    ) throws -> RestoredVault {
        try VaultBackup.restore(
            from: backup, to: url, unlockedBy: source, keyStore: keyStore, keyNames: Self.names,
            replacing: replacing, preparing: Self.keep, progress: progress)
    }

    static func keep(_ sets: SecureDatabaseStore, _ keys: [WrappedKeySet]) throws {
        for set in keys {
            try sets.executeUpdate(
                "INSERT OR REPLACE INTO wrapped VALUES (?, ?)", set.dataKeyName, set.bytes)
        }
    }

    /// Opens the restored vault with the keys on its device and reads every sealed value.
    func checkRestored(rows: Int) throws {
        let kek = try KeyEncryptionKey(
            name: Self.names.keyEncryption, bytes: keyStore.read(Self.names.keyEncryption))
        try withStore { store in
            let bytes = try require(store.data(forQuery: "SELECT keys FROM wrapped"))
            let key = try WrappedKeySet(bytes: bytes).unwrap(with: kek)
            let found = try store.executeQuery("SELECT id, secret FROM login ORDER BY id")
            defer { found.close() }
            var count = 0
            while try found.next() {
                let id = try require(found.int64(forColumnIndex: 0))
                let sealed = try require(found.data(forColumnIndex: 1))
                let secret = try key.open(
                    sealed, table: "login", column: "secret", row: .integer(id))
                check(secret, equals: Self.secret)
                count += 1
            }
            check(count, equals: rows)
        }
        try check(keyStore.names(), equals: ["db", "kek"])
    }

    /// Returns the names beside the database that must not exist after a call.
    func leftovers() throws -> [String] {
        try place.fileNames().filter {
            !["test.db", "test.db-wal", "test.db-shm", "vault.backup"].contains($0)
        }
    }
}

/// Returns the error that `body` throws if it is an error of a backup.
func backupError(_ body: () throws -> Void) -> VaultBackupError? {
    do {
        try body()
        return nil
    } catch {
        return error as? VaultBackupError
    }
}

extension VaultBackupError {
    /// The name of the case, or of that of the error of a key.
    var kind: String? {
        if case .key(let error) = self { return Mirror(reflecting: error).children.first?.label }
        return Mirror(reflecting: self).children.first?.label
    }

    var isDamage: Bool {
        switch self {
        case .damaged, .notABackup, .unsupportedVersion, .key(.unacceptableParameters): true
        default: false
        }
    }
}
