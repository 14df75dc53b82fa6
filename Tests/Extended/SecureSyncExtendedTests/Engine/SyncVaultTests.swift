import Foundation
@testable import ObjectStores
import SecureKeys
import SecureStorage
import SecureSync
import SyncTestKit
import TestSupport
import Testing
import Vaults
@testable import SecureSyncTests

/// A vault whose tables several devices write.
struct SyncVaultTests {
    private let folder: TemporaryDatabase
    private let store = InMemoryObjectStore()

    init() throws { folder = try TemporaryDatabase() }

    /// Logins whose sites need the device's key, and whose passwords also need the user's.
    private final class LoginVault: SecureVault, Sendable {
        let providers: SecureStorageProviders<VaultDatabaseProvider>
        let levels: SecureVaultLevels

        init(providers: SecureStorageProviders<VaultDatabaseProvider>) {
            self.providers = providers
            levels = SecureVaultLevels(providers: providers)
        }

        func add(_ site: String, _ password: String) throws {
            let id = UUID().uuidString
            let sealed = try levels.l2Seal(
                Data(password.utf8), table: "login", column: "password", row: .text(id))
            try providers.database.inDatabaseTransaction { db in
                try db.executeUpdate("INSERT INTO login VALUES (?, ?, ?)", id, site, sealed)
            }
        }

        func password(_ site: String) throws -> String? {
            let row = try providers.database.db.read { db in
                let rows = try db.executeQuery(
                    "SELECT id, password FROM login WHERE site = ?", values: [site])
                defer { rows.close() }
                guard try rows.next(), let id = rows.string(forColumnIndex: 0),
                    let sealed = rows.data(forColumnIndex: 1)
                else { return nil as (String, Data)? }
                return (id, sealed)
            }
            guard let (id, sealed) = row else { return nil }
            let opened = try levels.l2Open(
                sealed, table: "login", column: "password", row: .text(id))
            return String(decoding: opened, as: UTF8.self)
        }
    }

    /// One device: its keys and its file.
    private struct Device {
        let keyStore = InMemoryKeyStore()
        let file: URL
        let factory: SecureVaultFactory<LoginVault>

        init(_ file: URL) {
            let keyStore = keyStore
            self.file = file
            factory = SecureVaultFactory<LoginVault>(
                makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
                makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
                makeDatabaseProvider: { key, _ in
                    try VaultDatabaseProvider(file: file, key: key, writerType: .pool) {
                        $0.add(
                            "logins",
                            sql: """
                                CREATE TABLE login (
                                    id TEXT PRIMARY KEY NOT NULL, site TEXT, password BLOB)
                                """)
                    }
                })
        }

        func engine(_ vault: LoginVault, _ store: any ObjectStore) throws -> SyncEngine {
            // begin
            var tables = SyncedTables()
            tables.add("login")
            let sync = try SyncEngine(
                vault.providers.database.db, tables: tables, store: store, keyStore: keyStore)
            // end
            return sync
        }
    }

    @Test func `a device with a restored vault joins, and each reads what the other has sealed`()
        async throws
    {
        let phone = Device(folder.directory.appendingPathComponent("phone.db"))
        let laptop = Device(folder.directory.appendingPathComponent("laptop.db"))
        let (first, second) = (SecretBytes(utf8: "one"), SecretBytes(utf8: "two"))

        let phoneVault = try phone.factory.makeVault(reporter: nil)
        defer { phoneVault.providers.database.db.close() }
        try await phoneVault.levels.resetL2Password(oldPassword: nil, newPassword: first)
        try await phoneVault.levels.authWith(password: first)
        try phoneVault.add("example.org", "secret")
        let phoneSync = try phone.engine(phoneVault, store)
        try await phoneSync.createGroup(deviceName: "phone")
        _ = try await phoneSync.syncOnce()

        let (backup, code) = (
            folder.directory.appendingPathComponent("backup"), RecoveryCode.random()
        )
        try await phoneVault.levels.makeBackup(at: backup, unlockedBy: [code], password: first)
        try laptop.factory.restore(
            from: backup, to: laptop.file, unlockedBy: code, newPassword: second)
        let laptopVault = try laptop.factory.makeVault(reporter: nil)
        defer { laptopVault.providers.database.db.close() }
        try await laptopVault.levels.authWith(password: second)
        try laptopVault.add("example.com", "of the laptop")
        let laptopSync = try laptop.engine(laptopVault, store)
        // The phone's keys for the group are in the phone's key store.
        try await laptopSync.join(
            try await phoneSync.invite(.once), deviceName: "laptop", localRows: .keep)
        for sync in [laptopSync, phoneSync, laptopSync] { _ = try await sync.syncOnce() }

        for vault in [phoneVault, laptopVault] {
            try check(vault.password("example.org"), equals: "secret")
            try check(vault.password("example.com"), equals: "of the laptop")
        }
        try await check(phoneSync.members().map(\.name).sorted(), equals: ["laptop", "phone"])
        try check(phoneSync.conflicts().isEmpty && laptopSync.conflicts().isEmpty)

        try phoneVault.add("example.net", "later")
        for sync in [phoneSync, laptopSync] { _ = try await sync.syncOnce() }
        try check(laptopVault.password("example.net"), equals: "later")
    }
}
