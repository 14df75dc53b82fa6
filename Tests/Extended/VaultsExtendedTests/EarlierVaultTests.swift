import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureKeys
@testable import Vaults
@testable import VaultsTests

/// Vaults that an earlier version made: they open, and the next unlock brings them up to date.
struct EarlierVaultTests {
    /// The files of a vault, in a directory for one test.
    private final class Earlier: Sendable {
        let url: URL

        init(_ name: String) throws {
            let fixture = try require(
                Bundle.module.url(forResource: "vaults-1", withExtension: "json"))
            let vaults = try JSONDecoder().decode(
                [String: [String: Data]].self, from: Data(contentsOf: fixture))
            url = FileManager.default.temporaryDirectory
                .appendingPathComponent("EarlierVaultTests-\(UUID().uuidString)")
            for (path, bytes) in try require(vaults[name]) {
                let file = url.appendingPathComponent(path)
                try FileManager.default.createDirectory(
                    at: file.deletingLastPathComponent(), withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
                try bytes.write(to: file)
                chmod(file.path, 0o600)
            }
        }

        deinit { try? FileManager.default.removeItem(at: url) }
    }

    private static let id = "org.example.prompt"

    private static func dataVault(_ path: String) throws -> DataVault {
        try DataVaultContainer(directory: URL(fileURLWithPath: path)).vault(id: id)
    }

    private static func isUpgraded(_ vault: DataVault) throws -> Bool {
        let record = try vault.container.records.read(vault.place)
        guard case .password? = record?.keys?.records.first?.origin else { return false }
        return true
    }

    private static func isUpgradedLevels(_ directory: URL) throws -> Bool {
        let keys = try FileKeyStore(directory: directory.appendingPathComponent("keys"))
        let name = try require(keys.names().first { $0.hasSuffix(".l2-key") })
        guard let record = try? WrappedKey(bytes: keys.read(name).copied) else { return false }
        if case .password = record.origin { return true }
        return false
    }

    /// The vault of accounts, as the example that made the file has it.
    private final class AccountVault: SecureVault, Sendable {
        private let providers: SecureStorageProviders<VaultDatabaseProvider>
        private let levels: SecureVaultLevels

        init(providers: SecureStorageProviders<VaultDatabaseProvider>) {
            self.providers = providers
            levels = SecureVaultLevels(providers: providers)
        }

        private static let schema = """
            CREATE TABLE website_credentials (
                id INTEGER PRIMARY KEY, domain TEXT NOT NULL, username TEXT NOT NULL,
                title TEXT NOT NULL, password BLOB, UNIQUE (domain, username))
            """

        static func open(_ directory: URL) throws -> AccountVault {
            let keyStore = try FileKeyStore(directory: directory.appendingPathComponent("keys"))
            return try SecureVaultFactory<AccountVault>(
                makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
                makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
                makeDatabaseProvider: { key, _ in
                    let file = directory.appendingPathComponent("passwords.db")
                    return try VaultDatabaseProvider(file: file, key: key) {
                        $0.add("website credentials", sql: schema)
                    }
                }
            ).makeVault(reporter: nil)
        }

        /// Locks the vault, and unlocks it with a password.
        func auth(_ text: String) throws {
            levels.lock()
            try levels.authWith(password: SecretBytes(utf8: text))
        }

        /// Returns the password of an account.
        func password(of username: String) throws -> SecretBytes {
            try levels.withL2 { level in
                try providers.database.db.read { db in
                    let row = try db.executeQuery(
                        "SELECT id, password FROM website_credentials WHERE username = ?",
                        values: [username])
                    defer { row.close() }
                    try require(row.next())
                    return try level.openSecret(
                        require(row.data(forColumnIndex: 1)), table: "website_credentials",
                        column: "password", row: .integer(require(row.int64(forColumnIndex: 0))))
                }
            }
        }
    }

    @Test func `a data vault opens, and then takes the password in any spelling`() throws {
        let earlier = try Earlier("dataVault")
        let vault = try Self.dataVault(earlier.url.path)
        try check(!Self.isUpgraded(vault))
        try check(vault.passwordPolicy.retryDelay, equals: 0)
        check(vaultCode { try vault.unlock(password: "pa\u{308}ssword 1") }, equals: 5)
        try check(vault.triesLeft, equals: 4)
        try vault.unlock(password: "p\u{e4}ssword 1")
        try check(vault.getString("token"), equals: "secret value")
        try check(Self.isUpgraded(vault))
        try check(vault.triesLeft, equals: 5)
        vault.lock()
        try vault.unlock(password: "pa\u{308}ssword 1")
        try check(vault.getString("token"), equals: "secret value")
    }

    @Test func `a vault in levels opens, and then takes the password in any spelling`() throws {
        let earlier = try Earlier("secureVault")
        let vault = try AccountVault.open(earlier.url)
        #expect(throws: SecureVaultError.self) { try vault.auth("pa\u{308}ssword 2") }
        try check(!Self.isUpgradedLevels(earlier.url))
        try vault.auth("p\u{e4}ssword 2")
        try check(Self.isUpgradedLevels(earlier.url))
        try vault.auth("pa\u{308}ssword 2")
        try check(vault.password(of: "ada"), equals: SecretBytes(utf8: "hunter two"))
    }

    @Test func `a kill during the upgrade of a data vault loses nothing`() async throws {
        let kills = SuddenDeath.count(2)
        var moment = SuddenDeath.Moment()
        var upgraded = 0
        for round in 1...kills {
            let earlier = try Earlier("dataVault")
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = earlier.url.path as String, delay = delay as Int] in
                let vault = try Self.dataVault(path)
                SuddenDeath.after(microseconds: delay)
                try vault.unlock(password: "p\u{e4}ssword 1")
                close(open(path + "/unlocked", O_WRONLY | O_CREAT, 0o600))
                SuddenDeath.now()
            }
            let done = earlier.url.appendingPathComponent("unlocked").path
            moment.note(wasTooLate: FileManager.default.fileExists(atPath: done))
            let vault = try Self.dataVault(earlier.url.path)
            if try Self.isUpgraded(vault) { upgraded += 1 }
            try await vault.unlock(password: "p\u{e4}ssword 1")
            try check(vault.getString("token"), equals: "secret value", "round \(round)")
            try check(Self.isUpgraded(vault))
        }
        SuddenDeath.report("kills of upgrades of data vaults: \(kills), \(upgraded) were complete")
    }

    @Test func `a kill during the upgrade of a vault in levels loses nothing`() async throws {
        let kills = SuddenDeath.count(2)
        var moment = SuddenDeath.Moment()
        var upgraded = 0
        for _ in 1...kills {
            let earlier = try Earlier("secureVault")
            let delay = moment.next()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [path = earlier.url.path as String, delay = delay as Int] in
                let vault = try AccountVault.open(URL(fileURLWithPath: path))
                SuddenDeath.after(microseconds: delay)
                try vault.auth("p\u{e4}ssword 2")
                close(open(path + "/unlocked", O_WRONLY | O_CREAT, 0o600))
                SuddenDeath.now()
            }
            let done = earlier.url.appendingPathComponent("unlocked").path
            moment.note(wasTooLate: FileManager.default.fileExists(atPath: done))
            if try Self.isUpgradedLevels(earlier.url) { upgraded += 1 }
            let vault = try AccountVault.open(earlier.url)
            try vault.auth("p\u{e4}ssword 2")
            try vault.auth("pa\u{308}ssword 2")
            try check(vault.password(of: "ada"), equals: SecretBytes(utf8: "hunter two"))
        }
        SuddenDeath.report(
            "kills of upgrades of vaults in levels: \(kills), \(upgraded) were complete")
    }
}
