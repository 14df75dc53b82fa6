import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
import VaultsTestKit

/// The rows of Docs/SecureVault.md, "Coming from DuckDuckGo's".
struct FromDuckDuckGoTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase(name: "vault.db") }

    private func notes(_ migrations: inout SchemaMigrations) {
        migrations.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text BLOB)")
    }

    /// A vault of an app, with nothing but its providers.
    private final class Vault: SecureVault, Sendable {
        let providers: SecureStorageProviders<VaultDatabaseProvider>
        init(providers: SecureStorageProviders<VaultDatabaseProvider>) {
            self.providers = providers
        }
    }

    private func factory(_ keyStore: some KeyStore) -> SecureVaultFactory<Vault> {
        SecureVaultFactory<Vault>(
            makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
            makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
            makeDatabaseProvider: { [database] key, _ in
                try VaultDatabaseProvider(file: database.url, key: key) {
                    $0.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text BLOB)")
                }
            })
    }

    @Test func `row 1: errors have the codes and the domain of the other library's`() {
        typealias SecureStorageError = SecureVaultError
        let errors: [(SecureStorageError, Int)] = [
            (.initFailed(cause: CancellationError()), 1), (.authRequired, 2), (.invalidPassword, 3),
            (.noL1Key, 4), (.noL2Key, 5), (.authError(cause: CancellationError()), 6),
            (.failedToOpenDatabase(cause: CancellationError()), 7),
            (.databaseError(cause: CancellationError()), 8), (.duplicateRecord, 9),
            (.keystoreError(status: -1), 10), (.secError(status: -1), 11),
            (.generalCryptoError, 12), (.encodingFailed, 13),
        ]
        for (error, code) in errors {
            check((error as NSError).code, equals: code)
            check((error as NSError).domain, equals: "SecureVaultError")
        }
    }

    @Test(arguments: [VaultDatabaseProvider.DatabaseWriterType.queue, .pool])
    func `row 2: the database is a queue or a pool behind one protocol`(
        _ type: VaultDatabaseProvider.DatabaseWriterType
    ) throws {
        let provider = try VaultDatabaseProvider(
            file: database.url, key: TemporaryDatabase.key, writerType: type,
            registerMigrationsHandler: notes)
        let writer: any SecureDatabaseWriter = provider.db
        try writer.write { db in try db.executeUpdate("INSERT INTO note (text) VALUES ('x')") }
        try check(writer.read { db in try db.int("SELECT count(*) FROM note") }, equals: 1)
        check((writer is SecureDatabasePool), equals: (type == .pool))
        writer.close()
    }

    @Test func `row 3: a provider runs the pending migrations when it opens the file`() throws {
        for steps in 1...2 {
            let provider = try VaultDatabaseProvider(
                file: database.url, key: TemporaryDatabase.key
            ) { migrations in
                notes(&migrations)
                if steps == 2 {
                    migrations.add("title", sql: "ALTER TABLE note ADD COLUMN title TEXT")
                }
            }
            try check(
                provider.db.read { db in try db.columnExists("title", inTable: "note") },
                equals: (steps == 2))
            provider.db.close()
        }
    }

    @Test func `row 4: keys are in any key store`() throws {
        let memory = InMemoryKeyStore()
        let vault = try factory(memory).makeVault(reporter: nil)
        try check(!memory.names().isEmpty)
        vault.providers.database.db.close()
        let files = try FileKeyStore(directory: database.directory.appendingPathComponent("keys"))
        try SecureDatabaseStore.remove(at: database.url)
        let other = try factory(files).makeVault(reporter: nil)
        try check(!files.names().isEmpty)
        other.providers.database.db.close()
    }

    @Test func `row 5: salts are kept in the key store, and differ between vaults`() throws {
        func salts(_ keyStore: InMemoryKeyStore) throws -> [Data] {
            let crypto = VaultCryptoProvider(keyStore: keyStore)
            // The same again, from the entries of the store.
            check(crypto.passwordSalt, equals: VaultCryptoProvider(keyStore: keyStore).passwordSalt)
            return [crypto.passwordSalt]
        }
        try check(salts(InMemoryKeyStore()) != salts(InMemoryKeyStore()))
    }

    @Test func `row 6: a damaged file stays where it is, and its rows are salvaged`() throws {
        let key = TemporaryDatabase.key
        let provider = try VaultDatabaseProvider(
            file: database.url, key: key, registerMigrationsHandler: notes)
        try provider.db.write { db in
            for number in 0..<500 {
                try db.executeUpdate(
                    "INSERT INTO note (text) VALUES (?)",
                    Data(repeating: UInt8(number % 250), count: 100))
            }
        }
        provider.db.close()
        var bytes = try Data(contentsOf: database.url)
        for index in 4096..<4196 { bytes[index] ^= 0xFF }
        try bytes.write(to: database.url)
        #expect(throws: (any Error).self) {
            let provider = try VaultDatabaseProvider(
                file: database.url, key: key, registerMigrationsHandler: notes)
            defer { provider.db.close() }
            _ = try provider.db.read { db in try db.int("SELECT count(text) FROM note") }
        }
        try check(Data(contentsOf: database.url), equals: bytes)
        let saved = database.directory.appendingPathComponent("saved.db")
        let report = try SecureDatabaseStore.salvage(at: database.url, key: .raw(key), to: saved)
        check(!report.damagedPages.isEmpty)
        check(report.tables.first { $0.name == "note" }?.rowsSaved ?? 0 > 100)
    }

    @Test func `row 7: keys and database are made together`() throws {
        let memory = InMemoryKeyStore()
        let providers = try factory(memory).makeSecureStorageProviders(reporter: nil)
        try check(!memory.names().isEmpty)
        check(providers.database.db.isOpen())
        providers.database.db.close()
        // The file without its keys is not opened with new ones.
        #expect(throws: SecureVaultError.self) {
            try factory(InMemoryKeyStore()).makeSecureStorageProviders(reporter: nil)
        }
    }

    @Test func `row 8: a locked key store at the first run is an error, and nothing is made`()
        throws
    {
        #expect(throws: SecureVaultError.self) {
            try factory(LockedKeyStore()).makeVault(reporter: nil)
        }
        try check(database.fileNames(), equals: [])
    }

    /// A key store that another program keeps locked.
    private struct LockedKeyStore: KeyStore {
        private var locked: KeyStoreError { .unavailable(reason: "locked") }
        func store(_ secret: SecretBytes, forName name: String) throws { throw locked }
        func insert(_ secret: SecretBytes, forName name: String) throws { throw locked }
        func read(_ name: String) throws -> SecretBytes { throw locked }
        func remove(_ name: String) throws -> Bool { throw locked }
        func names() throws -> [String] { throw locked }
    }

    @Test func `a database of the other library opens with its key as a passphrase`() throws {
        let key = TemporaryDatabase.key
        let store = SecureDatabaseStore(url: database.url)
        try store.open(with: .passphrase(SecretBytes(copying: key)))
        try store.executeUpdate("CREATE TABLE old (a)")
        store.close()
        let provider = try VaultDatabaseProvider(
            file: database.url, key: key, keyForm: .passphrase, registerMigrationsHandler: notes)
        try check(provider.db.read { db in try db.tableExists("old") })
        provider.db.close()
    }
}
