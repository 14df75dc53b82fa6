import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
@testable import VaultsTests

/// The key stores of `Docs/Keys.md`.
enum KeyStoresOfSystems {
    static func files(_ directory: URL) throws -> any KeyStore {
        // begin
        let keyStore = try FileKeyStore(directory: directory.appendingPathComponent("keys"))
        // end
        return keyStore
    }

    static func sealedFiles(_ directory: URL) throws -> any KeyStore {
        // begin
        let keyStore = try FileKeyStore(
            directory: directory.appendingPathComponent("keys"),
            sealedWith: SystemdCredentials.key(named: "notes.key"))
        // end
        return keyStore
    }

    static func seal(_ keyStore: FileKeyStore, into sealedStore: FileKeyStore) throws {
        // begin
        for name in try keyStore.names() {
            try sealedStore.insert(keyStore.read(name), forName: name)
        }
        // end
    }

    #if os(Linux)
        static func keyring() throws -> any KeyStore {
            // begin
            let keyStore = try SecretServiceKeyStore(service: "org.example.notes")
            // end
            return keyStore
        }
    #elseif canImport(Security)
        static func keychain() throws -> any KeyStore {
            // begin
            let keyStore = try KeychainKeyStore(service: "org.example.notes")
            // end
            return keyStore
        }
    #endif
}

/// The snippets of `Docs/Keys.md`, compiled and run; `DocumentationTests` compares the text.
struct SealedNotes {
    let db: SecureDatabaseStore
    let keyStore: any KeyStore

    func makeKeys(password: SecretBytes) throws -> DataEncryptionKey {
        // begin
        let deviceKey = try KeyEncryptionKey.random(name: "notes/\(UUID())")
        try keyStore.insert(deviceKey.secret(), forName: deviceKey.name)

        let dataKey = try DataEncryptionKey.random(name: "notes")
        var keys = try WrappedKeySet(wrapping: dataKey, with: deviceKey)
        try keys.add(PasswordKey(password), for: dataKey)
        try db.executeUpdate(
            "INSERT INTO wrapped (name, keys) VALUES (?, ?)", keys.dataKeyName, keys.bytes)
        // end
        return dataKey
    }

    func put(_ text: String, sealedWith dataKey: DataEncryptionKey) throws {
        // begin
        try db.executeUpdate("INSERT INTO note (text) VALUES (NULL)")
        let id = try db.lastInsertRowId()
        let sealed = try dataKey.seal(
            Data(text.utf8), table: "note", column: "text", row: .integer(id))
        try db.executeUpdate("UPDATE note SET text = ? WHERE id = ?", sealed, id)
        // end
    }

    func text(_ id: Int64, with dataKey: DataEncryptionKey) throws -> String {
        let sealed = try db.data(forQuery: "SELECT text FROM note WHERE id = ?", values: [id])
        let text = try dataKey.open(
            sealed ?? Data(), table: "note", column: "text", row: .integer(id))
        return String(decoding: text, as: UTF8.self)
    }

    func keys() throws -> WrappedKeySet {
        let stored = try db.data(forQuery: "SELECT keys FROM wrapped WHERE name = 'notes'")
        return try WrappedKeySet(bytes: stored ?? Data())
    }

    func store(_ keys: WrappedKeySet) throws {
        try db.executeUpdate(
            "UPDATE wrapped SET keys = ? WHERE name = ?", keys.bytes, keys.dataKeyName)
    }

    // begin
    func deviceKey(of keys: WrappedKeySet) throws -> KeyEncryptionKey {
        let names = keys.records.map(\.keyEncryptionKeyName).filter { $0.hasPrefix("notes/") }
        guard let name = names.first else { throw KeyStoreError.notFound(name: "notes/") }
        return try KeyEncryptionKey(name: name, bytes: keyStore.read(name))
    }
    // end

    func unlock(_ typed: SecretBytes) throws -> DataEncryptionKey {
        var keys = try keys()
        // begin
        let (dataKey, isStronger) = try keys.upgrade(unlocking: PasswordKey(typed))
        if isStronger { try store(keys) }
        // end
        return dataKey
    }

    func changePassword(from old: SecretBytes, to new: SecretBytes) throws {
        var keys = try keys()
        // begin
        try keys.rewrap(from: PasswordKey(old), to: PasswordKey(new))
        try store(keys)
        // end
    }

    func rotateDeviceKey() throws {
        var keys = try keys()
        // begin
        let old = try deviceKey(of: keys)
        let new = try KeyEncryptionKey.random(name: "notes/\(UUID())")
        try keyStore.insert(new.secret(), forName: new.name)
        try keys.rewrap(from: old, to: new)
        try store(keys)
        try keyStore.remove(old.name)
        // end
    }
}

struct KeySnippetTests {
    let folder: VaultFolder

    init() throws { folder = try VaultFolder.make() }

    static let password = SecretBytes(utf8: "correct horse")

    private static func open(_ folder: VaultFolder) throws -> SealedNotes {
        let keyStore = try folder.store()
        let db = SecureDatabaseStore(url: folder.file)
        try db.open(with: .raw(SecretBytes(copying: Data(repeating: 1, count: 32)))) { db in
            do {
                try db.executeStatements(
                    """
                    CREATE TABLE IF NOT EXISTS wrapped (name TEXT PRIMARY KEY, keys BLOB NOT NULL);
                    CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY, text BLOB)
                    """)
                return nil
            } catch {
                return error
            }
        }
        return SealedNotes(db: db, keyStore: keyStore)
    }

    @Test func `data keys are wrapped, unwrapped and rewrapped, and the data stays unchanged`()
        throws
    {
        defer { folder.remove() }
        let notes = try Self.open(folder)
        let key = try notes.makeKeys(password: Self.password)
        try notes.put("text", sealedWith: key)
        let sealed = try notes.db.data(forQuery: "SELECT text FROM note")
        try check(notes.text(1, with: notes.unlock(Self.password)), equals: "text")
        let new = SecretBytes(utf8: "battery staple")
        try notes.changePassword(from: Self.password, to: new)
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try notes.unlock(Self.password)
        }
        try notes.rotateDeviceKey()
        try check(notes.keyStore.names().count, equals: 1)
        try check(notes.text(1, with: notes.unlock(new)), equals: "text")
        let keys = try notes.keys()
        try check(notes.text(1, with: keys.unwrap(with: notes.deviceKey(of: keys))), equals: "text")
        try check(notes.db.data(forQuery: "SELECT text FROM note"), equals: sealed)
        notes.db.close()
    }

    @Test func `a rotation killed at any time leaves a device key that unwraps`() async throws {
        defer { folder.remove() }
        do {
            let notes = try Self.open(folder)
            let key = try notes.makeKeys(password: Self.password)
            try notes.put("text", sealedWith: key)
            notes.db.close()
        }
        for _ in 1...SuddenDeath.count(4) {
            let delay = Int.random(in: 0...100_000)
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [folder = folder.path as String, delay = delay as Int] in
                let notes = try Self.open(VaultFolder(path: folder))
                SuddenDeath.after(microseconds: delay)
                while true { try notes.rotateDeviceKey() }
            }
            let notes = try Self.open(folder)
            let keys = try notes.keys()
            try check(
                notes.text(1, with: keys.unwrap(with: notes.deviceKey(of: keys))), equals: "text")
            notes.db.close()
        }
        let notes = try Self.open(folder)
        let left = try notes.keyStore.names().count - 1
        SuddenDeath.report("kills of rotations have left \(left) keys that wrap nothing")
        try check(notes.text(1, with: notes.unlock(Self.password)), equals: "text")
        notes.db.close()
    }
}
