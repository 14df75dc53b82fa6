import Foundation
import SecureStorage
import Vaults

// Notes whose titles need the device's key, and whose texts also need the user's password.
//
//     swift run --package-path Examples FirstSecureVault DIRECTORY

final class NoteVault: SecureVault, Sendable {
    let providers: SecureStorageProviders<VaultDatabaseProvider>
    let levels: SecureVaultLevels

    init(providers: SecureStorageProviders<VaultDatabaseProvider>) {
        self.providers = providers
        levels = SecureVaultLevels(providers: providers)
    }

    func add(_ title: String, _ text: String) throws {
        try providers.database.inDatabaseTransaction { db in
            try db.executeUpdate("INSERT INTO note (title) VALUES (?)", title)
            let id = try db.lastInsertRowId()
            let sealed = try levels.l2Seal(
                Data(text.utf8), table: "note", column: "text", row: .integer(id))
            try db.executeUpdate("UPDATE note SET text = ? WHERE id = ?", sealed, id)
        }
    }

    func text(_ id: Int64) throws -> String? {
        let sealed = try providers.database.db.read { db in
            try db.data(forQuery: "SELECT text FROM note WHERE id = ?", id)
        }
        guard let sealed else { return nil }
        let text = try levels.l2Open(sealed, table: "note", column: "text", row: .integer(id))
        return String(decoding: text, as: UTF8.self)
    }
}

let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? "notes")
do {
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    let keyStore = try FileKeyStore(directory: directory.appendingPathComponent("keys"))
    let factory = SecureVaultFactory<NoteVault>(
        makeCryptoProvider: { VaultCryptoProvider(keyStore: keyStore) },
        makeKeyStoreProvider: { _ in VaultKeyStoreProvider(keyStore: keyStore) },
        makeDatabaseProvider: { key, _ in
            let file = directory.appendingPathComponent("notes.db")
            return try VaultDatabaseProvider(file: file, key: key) {
                $0.add("notes", sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, title, text)")
            }
        })
    let vault = try factory.makeVault(reporter: nil)
    print("Password:")
    let password = SecretBytes(utf8: readLine() ?? "")
    if try vault.levels.requiresPassword() {
        try vault.levels.authWith(password: password)
        print("The first note is: \(try vault.text(1) ?? "missing").")
    } else {
        try vault.add("groceries", "buy milk")
        try vault.levels.resetL2Password(oldPassword: nil, newPassword: password)
        print("The password was set.")
    }
} catch {
    print(error)
    exit(1)
}
