import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults

/// A vault as an app would write one: notes with a plain title and a text sealed by L2.
final class NoteVault: SecureVault, Sendable {
    let providers: SecureStorageProviders<VaultDatabaseProvider>
    let levels: SecureVaultLevels

    convenience init(providers: SecureStorageProviders<VaultDatabaseProvider>) {
        self.init(providers: providers, clock: SystemIdleClock())
    }

    init(
        providers: SecureStorageProviders<VaultDatabaseProvider>, clock: some IdleClock
    ) {
        self.providers = providers
        levels = SecureVaultLevels(providers: providers, clock: clock)
    }

    func store(_ title: String, _ text: String) throws {
        try providers.database.inDatabaseTransaction { db in
            try db.executeUpdate("INSERT INTO note (title) VALUES (?)", values: [title])
            let id = try db.lastInsertRowId()
            let sealed = try levels.l2Seal(
                Data(text.utf8), table: "note", column: "text", row: .integer(id))
            try db.executeUpdate("UPDATE note SET text = ? WHERE id = ?", values: [sealed, id])
        }
    }

    func titles() throws -> [String] {
        try providers.database.db.read { db in
            let rs = try db.executeQuery("SELECT title FROM note ORDER BY id")
            var titles: [String] = []
            while try rs.next() { titles.append(rs.string(forColumnIndex: 0) ?? "") }
            return titles
        }
    }

    func text(_ id: Int64) throws -> String {
        let sealed = try providers.database.db.read { db in
            try db.data(forQuery: "SELECT text FROM note WHERE id = ?", values: [id])
        }
        let text = try levels.l2Open(
            sealed ?? Data(), table: "note", column: "text", row: .integer(id))
        return String(decoding: text, as: UTF8.self)
    }
}

/// The directory of the keys and the database of one vault.
struct VaultFolder: Sendable {
    let path: String
    var url: URL { URL(fileURLWithPath: path) }
    var file: URL { url.appendingPathComponent("vault.db") }
    var keys: URL { url.appendingPathComponent("keys") }

    static func make() throws -> VaultFolder {
        let url = FileManager.default.temporaryDirectory
            .appendingPathComponent("VaultsTests-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
        return VaultFolder(path: url.path)
    }

    func remove() { try? FileManager.default.removeItem(at: url) }

    func store() throws -> FileKeyStore { try FileKeyStore(directory: keys) }

    /// Returns the factory that a program makes once.
    func factory(_ keyStore: some KeyStore) -> SecureVaultFactory<NoteVault> {
        SecureVaultFactory<NoteVault>(
            makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
            makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
            makeDatabaseProvider: { key, _ in
                try VaultDatabaseProvider(file: file, key: key) {
                    $0.add(
                        "notes",
                        sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, title TEXT, text BLOB)")
                }
            })
    }

    /// Returns the same factory with a cheaper derivation.
    func factory(
        _ keyStore: some KeyStore, quick: Bool, parameters: ScryptParameters? = nil
    ) -> SecureVaultFactory<NoteVault> {
        let usual = factory(keyStore)
        return SecureVaultFactory<NoteVault>(
            makeCryptoProvider: {
                if quick { return QuickCryptoProvider(keyStore) }
                return VaultCryptoProvider(
                    keyStore: keyStore, parameters: try parameters ?? .cheapest)
            },
            makeKeyStoreProvider: usual.makeKeyStoreProvider,
            makeDatabaseProvider: usual.makeDatabaseProvider)
    }

    /// Opens the vault as at a start, and closes its file after `body`.
    @discardableResult
    func withVault<R>(
        _ keyStore: some KeyStore, quick: Bool = true, parameters: ScryptParameters? = nil,
        clock: some IdleClock = SystemIdleClock(), _ body: (NoteVault) throws -> R
    ) throws -> R {
        let providers = try factory(keyStore, quick: quick, parameters: parameters)
            .makeSecureStorageProviders(reporter: nil)
        defer { providers.database.db.close() }
        return try body(NoteVault(providers: providers, clock: clock))
    }

    /// Replaces the record of L2's key by a box without a header, as apps and earlier versions make
    /// it.
    func useBox(_ keyStore: some KeyStore, password: SecretBytes) throws {
        let crypto = VaultCryptoProvider(keyStore: keyStore)
        let entries = VaultKeyStoreProvider(keyStore: keyStore)
        var wrapping = try password.withData { try crypto.deriveKeyFromPassword($0) }
        let record = try require(entries.encryptedL2Key())
        var root = try crypto.decrypt(record, withKey: wrapping)
        try entries.storeEncryptedL2Key(crypto.encrypt(root, withKey: wrapping))
        root.erase()
        wrapping.erase()
    }

    func database() throws -> VaultDatabaseProvider {
        try VaultDatabaseProvider(file: file, key: Data(repeating: 1, count: 32)) { _ in }
    }

    func fileNames() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}

/// Returns the error that `body` throws as the name of its case, followed by its cause's.
func vaultError(_ body: () throws -> Void) -> String? {
    do {
        try body()
        return nil
    } catch let error as SecureVaultError {
        return name(of: error)
    } catch {
        return "other: \(error)"
    }
}

private func name(of error: SecureVaultError) -> String {
    let names = [
        "initFailed", "authRequired", "invalidPassword", "noL1Key", "noL2Key", "authError",
        "failedToOpenDatabase", "databaseError", "duplicateRecord", "keystoreError", "secError",
        "generalCryptoError", "encodingFailed", "keystoreReadError", "keystoreUpdateError",
        "mustWait",
    ]
    let own = names[error.errorCode - 1]
    if let cause = error.cause as? SecureVaultError { return own + "." + name(of: cause) }
    switch error.cause as? SecureStorageError {
    case .authenticationFailed: return own + ".authenticationFailed"
    case .openFailed: return own + ".openFailed"
    default: return own
    }
}
