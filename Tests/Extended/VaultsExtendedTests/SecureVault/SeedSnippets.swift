import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
import VaultsTestKit
@testable import VaultsTests

// Code written for another SecureVault, over GRDB. Each part follows a quotation of the lines that
// it comes from; only the names of GRDB's types are changed. What the guidelines leave out is at
// the end.
//
// Not included: Apple-only parts (UIApplication's background tasks, ActivityKit, Logger) and the
// chapter on updating GRDB.

/// This code's name for the error; the module SecureStorage has another type of that name.
private typealias SecureStorageError = SecureVaultError

// "public protocol AutofillSecureVault: SecureVault {"

private protocol AutofillSecureVault: SecureVault {
    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials
    ) throws -> Int64
    func websiteCredentialsFor(
        domain: String
    ) throws -> [SecureVaultModels.WebsiteCredentials]
    // "// ... other autofill-specific methods"
    func authWith(password: Data) throws -> any AutofillSecureVault
    func resetL2Password(oldPassword: Data?, newPassword: Data) throws
    func inDatabaseTransaction(_ block: (SecureDatabaseStore) throws -> Void) throws
    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials, in database: SecureDatabaseStore
    ) throws -> Int64
}

// "public let AutofillSecureVaultFactory: AutofillVaultFactory =
// SecureVaultFactory<DefaultAutofillSecureVault>("

private let AutofillSecureVaultFactory: AutofillVaultFactory =
    SecureVaultFactory<DefaultAutofillSecureVault>(
        makeCryptoProvider: {
            AutofillCryptoProvider()
        },
        makeKeyStoreProvider: { reporter in
            AutofillKeyStoreProvider(reporter: reporter)
        },
        makeDatabaseProvider: { key, _ in
            try DefaultAutofillDatabaseProvider(key: key)
        }
    )

// "final class MyFeatureViewModel: ObservableObject {"

private final class MyFeatureViewModel {
    private let vault: any AutofillSecureVault

    init(dependencies: any DependencyProvider = AppDependencyProvider.shared) {
        self.vault = dependencies.autofillSecureVault
    }

    func store(_ credentials: SecureVaultModels.WebsiteCredentials) throws -> Int64 {
        try vault.storeWebsiteCredentials(credentials)
    }
}

// "public class DefaultAutofillSecureVault<T: AutofillDatabaseProvider>: AutofillSecureVault {"

private class DefaultAutofillSecureVault<T: AutofillDatabaseProvider>: AutofillSecureVault {

    // "// L1: Secret key encryption (stored in Keychain)"
    private func l1Encrypt(data: Data) throws -> Data {
        let l1Key = try providers.keystore.l1Key()
        return try providers.crypto.encrypt(data, withKey: l1Key)
    }

    // "// L2: User password encryption (with expiring access)"
    private func l2Encrypt(data: Data, using l2Key: Data? = nil) throws -> Data {
        let key: Data = try {
            if let l2Key {
                return l2Key
            }
            let password = try passwordInUse()
            return try l2KeyFrom(password: password)
        }()
        return try providers.crypto.encrypt(data, withKey: key)
    }

    // "// Password-based access with expiration"
    func authWith(password: Data) throws -> any AutofillSecureVault {
        lock.lock()
        defer { lock.unlock() }

        do {
            _ = try self.l2KeyFrom(password: password)  // Validates password
            self.expiringPassword.value = password
            return self
        } catch {
            let error = error as? SecureStorageError ?? .authError(cause: error)
            throw error
        }
    }

    // "// Secure password reset"
    func resetL2Password(oldPassword: Data?, newPassword: Data) throws {
        lock.lock()
        defer { lock.unlock() }

        // "Force re-auth on future calls"
        self.expiringPassword.value = nil

        do {
            // "Use provided old password or stored generated password"
            let generatedPassword = try self.providers.keystore.generatedPassword()
            guard let oldPassword = oldPassword ?? generatedPassword else {
                throw SecureStorageError.invalidPassword
            }

            // "Get decrypted L2 key using old password"
            let l2Key = try self.l2KeyFrom(password: oldPassword)

            // "Derive new encryption key"
            let newEncryptionKey = try self.providers.crypto.deriveKeyFromPassword(newPassword)

            // "Encrypt L2 key with new encryption key"
            let encryptedKey = try self.providers.crypto.encrypt(l2Key, withKey: newEncryptionKey)

            // "Store encrypted L2 key"
            try self.providers.keystore.storeEncryptedL2Key(encryptedKey)

            // "Clear generated password"
            try self.providers.keystore.clearGeneratedPassword()
        } catch {
            guard let error = error as? SecureStorageError else {
                throw SecureStorageError.databaseError(cause: error)
            }
            throw error
        }
    }

    // What the guidelines leave out.

    private let providers: SecureStorageProviders<T>
    private let expiringPassword = ExpiringValue<Data>(expiresAfter: 60 * 60 * 24 * 3)
    private let lock = NSLock()

    required init(providers: SecureStorageProviders<T>) { self.providers = providers }

    private func passwordInUse() throws -> Data {
        if let generated = try providers.keystore.generatedPassword() { return generated }
        guard let password = expiringPassword.value else { throw SecureStorageError.authRequired }
        return password
    }

    private func l2KeyFrom(password: Data) throws -> Data {
        let decryptionKey = try providers.crypto.deriveKeyFromPassword(password)
        guard let encryptedL2Key = try providers.keystore.encryptedL2Key() else {
            throw SecureStorageError.noL2Key
        }
        return try providers.crypto.decrypt(encryptedL2Key, withKey: decryptionKey)
    }

    private func l2Decrypt(data: Data) throws -> Data {
        try providers.crypto.decrypt(data, withKey: l2KeyFrom(password: passwordInUse()))
    }

    func inDatabaseTransaction(_ block: (SecureDatabaseStore) throws -> Void) throws {
        try providers.database.inDatabaseTransaction(block)
    }

    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials, in database: SecureDatabaseStore
    ) throws -> Int64 {
        try providers.database.store(
            credentials.account,
            username: l1Encrypt(data: Data((credentials.account?.username ?? "").utf8)),
            password: l2Encrypt(data: credentials.password ?? Data()), in: database)
    }

    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials
    ) throws -> Int64 {
        var id: Int64 = 0
        try inDatabaseTransaction { id = try storeWebsiteCredentials(credentials, in: $0) }
        return id
    }

    func websiteCredentialsFor(
        domain: String
    ) throws -> [SecureVaultModels.WebsiteCredentials] {
        try providers.database.rows(domain: domain).map { row in
            guard let l1Key = try providers.keystore.l1Key() else {
                throw SecureStorageError.noL1Key
            }
            let username = try providers.crypto.decrypt(row.username, withKey: l1Key)
            return SecureVaultModels.WebsiteCredentials(
                account: .init(
                    title: row.title, username: String(decoding: username, as: UTF8.self),
                    domain: domain),
                password: try l2Decrypt(data: row.password))
        }
    }
}

// "typealias MockVaultFactory = SecureVaultFactory<MockSecureVault<MockDatabaseProvider>>"

private typealias MockVaultFactory = SecureVaultFactory<MockSecureVault<MockDatabaseProvider>>

private let MockSecureVaultFactory = SecureVaultFactory<MockSecureVault>(
    makeCryptoProvider: {
        let provider = MockCryptoProvider()
        provider._derivedKey = "derived".data(using: .utf8)
        return provider
    },
    makeKeyStoreProvider: { _ in
        let provider = MockKeyStoreProvider()
        provider._l1Key = "key".data(using: .utf8)
        return provider
    },
    makeDatabaseProvider: { key, _ in
        try MockDatabaseProvider(key: key)
    }
)

// "final class MockSecureVault<T: AutofillDatabaseProvider>: AutofillSecureVault {"

private final class MockSecureVault<T: AutofillDatabaseProvider>: AutofillSecureVault {
    var storedAccounts: [SecureVaultModels.WebsiteAccount] = []
    var storedCredentials: [Int64: SecureVaultModels.WebsiteCredentials] = [:]

    // "// Simplified implementations for testing"
    func encrypt(_ data: Data, using key: Data) throws -> Data { data }
    func decrypt(_ data: Data, using key: Data) throws -> Data { data }

    // "// Test-specific storage"
    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials
    ) throws -> Int64 {
        let id = Int64(storedCredentials.count + 1)
        storedCredentials[id] = credentials
        if let account = credentials.account {
            storedAccounts.append(account)
        }
        return id
    }

    // What the guidelines leave out.

    init(providers: SecureStorageProviders<T>) {}

    func websiteCredentialsFor(
        domain: String
    ) throws -> [SecureVaultModels.WebsiteCredentials] {
        storedCredentials.values.filter { $0.account?.domain == domain }
    }

    func authWith(password: Data) throws -> any AutofillSecureVault { self }
    func resetL2Password(oldPassword: Data?, newPassword: Data) throws {}
    func inDatabaseTransaction(_ block: (SecureDatabaseStore) throws -> Void) throws {}
    func storeWebsiteCredentials(
        _ credentials: SecureVaultModels.WebsiteCredentials, in database: SecureDatabaseStore
    ) throws -> Int64 { try storeWebsiteCredentials(credentials) }
}

struct SeedSnippetTests {
    // "func testSecureVaultStorage() async throws {"
    @Test func `the guidelines' test of a mock vault passes`() async throws {
        let vault = try MockSecureVaultFactory.makeVault(reporter: nil)

        let account = SecureVaultModels.WebsiteAccount(
            title: "Test Site",
            username: "testuser",
            domain: "example.com"
        )

        let credentials = SecureVaultModels.WebsiteCredentials(
            account: account,
            password: "testpassword".data(using: .utf8)
        )

        // "// Test storage"
        let storedId = try vault.storeWebsiteCredentials(credentials)
        check(storedId > 0)

        // "// Test retrieval"
        let retrievedCredentials = try vault.websiteCredentialsFor(domain: "example.com")
        check(retrievedCredentials.count, equals: 1)
        check(retrievedCredentials.first?.account?.username, equals: "testuser")
    }

    @Test func `the guidelines' vault stores, asks for its password, and changes it`() throws {
        let vault = try AutofillSecureVaultFactory.makeVault(reporter: nil)
        try check(AutofillSecureVaultFactory.makeVault(reporter: nil) === vault)

        // "// ✅ GOOD: Batch operations"
        let credentials = ["a", "b"].map { (name: String) in
            SecureVaultModels.WebsiteCredentials(
                account: .init(title: name, username: name, domain: "example.com"),
                password: Data("pw-\(name)".utf8))
        }
        try vault.inDatabaseTransaction { database in
            for credential in credentials {
                _ = try vault.storeWebsiteCredentials(credential, in: database)
            }
        }
        let model = MyFeatureViewModel()
        try check(model.store(credentials[0]), equals: 3)
        let found = try vault.websiteCredentialsFor(domain: "example.com")
        check(found.map(\.account?.username), equals: ["a", "b", "a"])
        check(
            found.map(\.password),
            equals: [credentials[0], credentials[1], credentials[0]].map(\.password))

        // "catch SecureStorageError.authRequired", "catch SecureStorageError.invalidPassword"
        func handled(_ body: () throws -> Void) -> String {
            do {
                try body()
                return "processed"
            } catch SecureStorageError.authRequired {
                return "request user authentication"
            } catch SecureStorageError.invalidPassword {
                return "show password error"
            } catch SecureStorageError.databaseError(let cause) {
                return "database error: \(cause)"
            } catch {
                return "unexpected error: \(String(describing: error))"
            }
        }
        try vault.resetL2Password(oldPassword: nil, newPassword: Data("first".utf8))
        let read = { _ = try vault.websiteCredentialsFor(domain: "example.com") }
        check(handled(read), equals: "request user authentication")
        check(
            handled { _ = try vault.authWith(password: Data("other".utf8)) },
            equals: "show password error")
        let unlocked = try vault.authWith(password: Data("first".utf8))
        try check(unlocked.websiteCredentialsFor(domain: "example.com").count, equals: 3)
        try vault.resetL2Password(
            oldPassword: Data("first".utf8), newPassword: Data("second".utf8))
        check(handled(read), equals: "request user authentication")
        _ = try vault.authWith(password: Data("second".utf8))
        check(handled(read), equals: "processed")
    }

    // "let databaseDirectory = FileManager.default"
    @Test func `the guidelines' database path is the library's`() throws {
        let databaseDirectory = FileManager.default
            .urls(for: .applicationSupportDirectory, in: .userDomainMask)[0]
            .appendingPathComponent("SecureVault")
        let databaseURL = databaseDirectory.appendingPathComponent("vault.sqlite")
        try check(
            VaultDatabaseProvider.databaseFilePath(
                directoryName: "SecureVault", fileName: "vault.sqlite"), equals: databaseURL)
    }

    // "let queue = try DatabaseQueue(path: databaseURL.path, configuration: config)"
    // "let pool = try DatabasePool(path: databaseURL.path, configuration: config)"
    // "try database.usePassphrase(key)"
    // "try database.execute(sql: "PRAGMA cipher_plaintext_header_size = 32")"
    @Test(arguments: [VaultDatabaseProvider.DatabaseWriterType.queue, .pool])
    func `the guidelines' configuration opens, with either writer`(
        _ type: VaultDatabaseProvider.DatabaseWriterType
    ) throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        let file = directory.appendingPathComponent("vault.sqlite")
        var config = SecureDatabaseConfiguration()
        config.cipher.plaintextHeaderSize = 32
        // "PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", "PRAGMA cache_size = -16384";
        // "PRAGMA temp_store = MEMORY" is always in effect here.
        config.journalMode = .wal
        config.synchronous = .normal
        config.cacheSize = 16_384 * 1024
        for round in 0..<2 {
            let provider = try VaultDatabaseProvider(
                file: file, key: Data(repeating: 9, count: 32), writerType: type,
                keyForm: .passphrase, configuration: config
            ) { $0.add("t", sql: "CREATE TABLE t (x)") }
            let count = try provider.db.write { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                return try db.int(forQuery: "SELECT count(*) FROM t")
            }
            check(count, equals: round + 1)
            // "PRAGMA wal_checkpoint = TRUNCATE"
            try provider.db.checkpoint(.truncate)
            provider.db.close()
        }
        try check(Data(contentsOf: file).starts(with: Data("SQLite format 3".utf8)))
    }
}

// Declarations that the guidelines name and leave out.

private enum SecureVaultModels {
    struct WebsiteAccount: Sendable {
        var title: String?
        var username: String?
        var domain: String?
    }

    struct WebsiteCredentials: Sendable {
        var account: WebsiteAccount?
        var password: Data?
    }
}

private typealias AutofillVaultFactory =
    SecureVaultFactory<DefaultAutofillSecureVault<DefaultAutofillDatabaseProvider>>

private protocol AutofillDatabaseProvider: SecureStorageDatabaseProvider {}

extension MockDatabaseProvider: AutofillDatabaseProvider {}

private let appKeyStore = InMemoryKeyStore()

private func AutofillCryptoProvider() -> VaultCryptoProvider {
    // Half the default work: tests run without optimisation.
    VaultCryptoProvider(
        keyStore: appKeyStore,
        parameters: (try? ScryptParameters(costExponent: 14, blockSize: 8, parallelism: 4))
            ?? .default)
}

private struct AutofillKeyStoreProvider: SecureStorageKeyStoreProvider {
    let reporter: (any SecureVaultReporting)?
    var keyStore: any KeyStore { appKeyStore }
    var keychainServiceName: String { "SecureVault" }
}

private final class DefaultAutofillDatabaseProvider: TemporaryDatabaseProvider,
    AutofillDatabaseProvider, @unchecked Sendable
{
    init(key: Data) throws {
        try super.init(key: key, writerType: .pool) { migrations in
            migrations.add(
                "credentials",
                sql: """
                    CREATE TABLE website_credentials (
                        id INTEGER PRIMARY KEY, title TEXT, domain TEXT, username BLOB,
                        password BLOB)
                    """)
        }
    }
}

extension AutofillDatabaseProvider {
    fileprivate func store(
        _ account: SecureVaultModels.WebsiteAccount?, username: Data, password: Data,
        in database: SecureDatabaseStore
    ) throws -> Int64 {
        try database.executeUpdate(
            "INSERT INTO website_credentials (title, domain, username, password) VALUES (?, ?, ?, ?)",
            values: [account?.title, account?.domain, username, password])
        return try database.lastInsertRowId()
    }

    fileprivate func rows(
        domain: String
    ) throws -> [(title: String?, username: Data, password: Data)] {
        try db.read { db in
            let rs = try db.executeQuery(
                "SELECT * FROM website_credentials WHERE domain = ? ORDER BY id",
                values: [domain])
            var rows: [(title: String?, username: Data, password: Data)] = []
            while try rs.next() {
                rows.append(
                    (
                        rs.string(forColumnName: "title"),
                        rs.data(forColumnName: "username") ?? Data(),
                        rs.data(forColumnName: "password") ?? Data()
                    ))
            }
            return rows
        }
    }
}

private protocol DependencyProvider {
    var autofillSecureVault: any AutofillSecureVault { get }
}

private struct AppDependencyProvider: DependencyProvider {
    static let shared = AppDependencyProvider()
    var autofillSecureVault: any AutofillSecureVault {
        NeverFails.vault
    }
}

private enum NeverFails {
    static var vault: any AutofillSecureVault {
        do {
            return try AutofillSecureVaultFactory.makeVault(reporter: nil)
        } catch {
            fatalError("\(error)")
        }
    }
}
