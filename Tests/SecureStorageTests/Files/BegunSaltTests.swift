import Foundation
import SecureStorage
import Testing
import TestSupport

/// Interrupted creations and moves of a file with a plaintext header.
///
/// The salt is written first. It must not block the file name permanently, and the last copy of a
/// salt must not be deleted.
struct BegunSaltTests {
    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private static let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))

    private func store(_ path: String? = nil) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        return SecureDatabaseStore(
            fullDatabasePath: path ?? database.path, configuration: configuration)
    }

    private func make(_ path: String? = nil) throws {
        let db = store(path)
        try db.open(with: TemporaryDatabase.key)
        try db.executeStatements(
            "CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES ('stored')")
        db.close()
    }

    private func url(_ name: String) -> URL { database.directory.appendingPathComponent(name) }

    private func put(_ salt: Data?, _ name: String) throws {
        if let salt {
            try salt.write(to: url(name))
        } else {
            try? FileManager.default.removeItem(at: url(name))
        }
    }

    /// Returns the name of the temporary file for the file `name`.
    private func draft(_ name: String) -> String {
        let hash = name.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
            ($0 ^ UInt64($1)) &* 0x100_0000_01b3
        }
        return ".securestorage-\(String(hash, radix: 16)).draft"
    }

    @Test func `a name that another file takes during creation leaves no salt`() throws {
        // The handler creates a directory at the file's path, so the rename fails.
        let db = store()
        let path = database.path
        let error = storageError {
            try db.open(with: TemporaryDatabase.key) { db in
                let error = storageError { try db.executeUpdate("CREATE TABLE t (x)") }
                guard error == nil else { return error }
                return mkdir(path, 0o700) == 0 ? nil : SecureStorageError.closed
            }
        }
        check(error?.kind, equals: .openFailed)
        try check(database.fileNames(), equals: ["test.db"])
        try FileManager.default.removeItem(atPath: path)
        try make()
        try check(database.fileNames(), equals: ["test.db", "test.db-salt"])
    }

    @Test func `a salt that could not be removed is recognised by the temporary salt`() throws {
        try make()
        let salt = try Data(contentsOf: url("test.db-salt"))
        try FileManager.default.removeItem(at: database.url)
        // The state after the rename and all cleanup have failed.
        try put(salt, draft("test.db") + "-salt")
        try make()
        try check(database.fileNames(), equals: ["test.db", "test.db-salt"])
    }

    @Test func `a salt without its file stays unless it is proved to be left over`() throws {
        try make()
        let salt = try Data(contentsOf: url("test.db-salt"))
        let file = try Data(contentsOf: database.url)
        try make(url("other.db").path)
        try FileManager.default.removeItem(at: database.url)
        try put(Data(contentsOf: url("other.db-salt")), draft("test.db") + "-salt")
        let error = storageError { try make() }
        check(error?.description.contains("its salt file -salt exists"), equals: true)
        try check(Data(contentsOf: url("test.db-salt")), equals: salt)
        try file.write(to: database.url)
        try make()
    }

    @Test func `opening an existing file removes the leftover salt of a temporary file`() throws {
        try make()
        let salt = try Data(contentsOf: url("test.db-salt"))
        try put(salt, draft("test.db") + "-salt")
        try make()
        try check(database.fileNames(), equals: ["test.db", "test.db-salt"])
        // It cannot serve as proof later.
        try FileManager.default.removeItem(at: database.url)
        check(storageError { try make() } != nil)
        try check(Data(contentsOf: url("test.db-salt")), equals: salt)
    }

    @Test func `a move to a name that has a salt fails and keeps that salt`() throws {
        try make()
        // The new name has a salt file but no database.
        let target = url("moved.db")
        try make(target.path)
        let kept = try Data(contentsOf: url("moved.db-salt"))
        try FileManager.default.removeItem(at: target)
        let error = storageError {
            try SecureDatabaseStore.move(at: database.url, to: target)
        }
        check(error?.description.contains("salt file -salt already exists"), equals: true)
        try check(Data(contentsOf: url("moved.db-salt")), equals: kept)
        try check(
            database.fileNames(), equals: ["moved.db-salt", "test.db", "test.db-salt"])
    }

    @Test(arguments: ["before the rename", "after it"])
    func `a killed move blocks neither name`(_ moment: String) throws {
        try make()
        let salt = try Data(contentsOf: url("test.db-salt"))
        for name in [draft("moved.db") + "-salt", draft("test.db") + "-salt", "moved.db-salt"] {
            try put(salt, name)
        }
        if moment == "after it" {
            try FileManager.default.moveItem(at: database.url, to: url("moved.db"))
        }
        try make()
        try make(url("moved.db").path)
        try check(
            database.fileNames(), equals: ["moved.db", "moved.db-salt", "test.db", "test.db-salt"])
        for (name, rows) in [("test.db", 2), ("moved.db", 1)] {
            let db = store(url(name).path)
            try db.open(with: TemporaryDatabase.key)
            let expected = moment == "after it" ? 3 - rows : rows
            try check(db.int("SELECT count(*) FROM t"), equals: expected, "\(name)")
        }
    }

    @Test func `a migration killed before the rename does not block the file`() throws {
        try make()
        try require(link(database.path, database.path + ".old") == 0)
        try FileManager.default.copyItem(at: url("test.db-salt"), to: url("test.db.old-salt"))
        try make()
        let kept = try SecureDatabaseStore.migrate(
            at: database.url, key: Self.key, from: store().configuration.cipher)
        check(kept?.lastPathComponent, equals: "test.db.old")
        try SecureDatabaseStore.remove(at: require(kept))
        try require(link(database.path, database.path + ".old") == 0)
        try check(SecureDatabaseStore.remove(at: database.url))
        try check(database.fileNames().isEmpty)
    }
}
