import Foundation
import SecureStorage
import Vaults

/// Accounts at L1, their passwords at L2.
protocol AutofillSecureVault: SecureVault, Sendable {
    func inDatabaseTransaction(_ block: (SecureDatabaseStore) throws -> Void) throws
    func storeWebsiteCredentials(_ credentials: WebsiteCredentials) throws -> Int64
    func storeWebsiteCredentials(
        _ credentials: WebsiteCredentials, in database: SecureDatabaseStore
    ) throws -> Int64
    func accounts(domain: String?) throws -> [WebsiteAccount]
    func websiteCredentialsFor(domain: String) throws -> [WebsiteCredentials]
    func authWith(password: SecretBytes) throws
    func resetL2Password(oldPassword: SecretBytes?, newPassword: SecretBytes) throws
    func requiresPassword() throws -> Bool
    func hasUserPassword() throws -> Bool
    func lock()
    func makeBackup(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource, password: SecretBytes?) throws
}

final class DefaultAutofillSecureVault: AutofillSecureVault {
    private let providers: SecureStorageProviders<AutofillDatabase>
    private let levels: SecureVaultLevels

    init(providers: SecureStorageProviders<AutofillDatabase>) {
        self.providers = providers
        levels = SecureVaultLevels(providers: providers, accessDuration: Session.accessDuration)
    }

    func inDatabaseTransaction(_ block: (SecureDatabaseStore) throws -> Void) throws {
        try providers.database.inDatabaseTransaction(block)
    }

    func storeWebsiteCredentials(_ credentials: WebsiteCredentials) throws -> Int64 {
        var id: Int64 = 0
        try inDatabaseTransaction { id = try storeWebsiteCredentials(credentials, in: $0) }
        return id
    }

    func storeWebsiteCredentials(
        _ credentials: WebsiteCredentials, in database: SecureDatabaseStore
    ) throws -> Int64 {
        let id = try providers.database.upsert(credentials.account, in: database)
        // Sealed for this row: a password that is moved to another account does not open.
        let sealed = try levels.withL2 {
            try $0.seal(
                credentials.password, table: AutofillDatabase.table,
                column: AutofillDatabase.passwordColumn, row: .integer(id))
        }
        try providers.database.setPassword(sealed, ofRow: id, in: database)
        return id
    }

    func accounts(domain: String?) throws -> [WebsiteAccount] {
        try providers.database.rows(domain: domain).map(\.account)
    }

    func websiteCredentialsFor(domain: String) throws -> [WebsiteCredentials] {
        try levels.withL2 { level in
            try providers.database.rows(domain: domain).compactMap { account, sealed in
                guard let id = account.id, let sealed else { return nil }
                let password = try level.openSecret(
                    sealed, table: AutofillDatabase.table,
                    column: AutofillDatabase.passwordColumn, row: .integer(id))
                return WebsiteCredentials(account: account, password: password)
            }
        }
    }

    func authWith(password: SecretBytes) throws { try levels.authWith(password: password) }

    func resetL2Password(oldPassword: SecretBytes?, newPassword: SecretBytes) throws {
        try levels.resetL2Password(oldPassword: oldPassword, newPassword: newPassword)
    }

    func requiresPassword() throws -> Bool { try levels.requiresPassword() }

    func hasUserPassword() throws -> Bool { try providers.keystore.generatedPassword() == nil }

    func lock() { levels.lock() }

    func makeBackup(
        at url: URL, unlockedBy source: any KeyEncryptionKeySource, password: SecretBytes?
    ) throws {
        try levels.makeBackup(
            at: url, unlockedBy: [source], password: password)
    }
}

extension SecureVaultFactory where Vault == DefaultAutofillSecureVault {
    /// Returns the factory of the vault in a directory: the database, and next to it the keys in
    /// files that only their owner can read.
    static func autofill(directory: URL) throws -> SecureVaultFactory {
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let keyStore = try FileKeyStore(directory: directory.appendingPathComponent("keys"))
        return SecureVaultFactory(
            makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
            makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
            makeDatabaseProvider: { key, _ in
                try AutofillDatabase(file: AutofillDatabase.file(in: directory), key: key)
            })
    }
}
