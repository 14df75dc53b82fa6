import Foundation
import SecureStorage
import Testing
import TestSupport

/// Only their owner may read the files, whatever the umask.
struct FileModeTests {
    @Test(arguments: [0, 0o022, 0o077, 0o027] as [mode_t])
    func `files are 0600 and the directory 0700`(_ mask: mode_t) async throws {
        for mode in SecureDatabaseConfiguration.JournalMode.allCases {
            let database = try TemporaryDatabase(name: "new/test.db")
            await #expect(processExitsWith: .success) {
                [
                    path = database.path as String, mask = mask as mode_t,
                    mode = mode.rawValue as String
                ] in
                umask(mask)
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(.init(rawValue: mode))
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                for round in 1...2 {
                    try db.open(with: TemporaryDatabase.key)
                    try db.executeStatements(
                        "CREATE TABLE IF NOT EXISTS t (x); BEGIN; INSERT INTO t VALUES (1)")
                    let names = try FileManager.default.contentsOfDirectory(
                        atPath: path.replacingOccurrences(of: "/test.db", with: ""))
                    check(
                        names.sorted(),
                        equals: (mode == "wal"
                            ? ["test.db", "test.db-shm", "test.db-wal"]
                            : ["test.db", "test.db-journal"]))
                    for name in names {
                        check(
                            permissions(path + name.dropFirst("test.db".count)), equals: 0o600,
                            "\(name), round \(round)")
                    }
                    try db.commit()
                    try db.changeEncryptionKey(with: TemporaryDatabase.key)
                    db.close()
                }
                check(permissions(path), equals: 0o600)
                check(
                    permissions(path.replacingOccurrences(of: "/test.db", with: "")), equals: 0o700)
            }
        }
    }

    @Test func `a new file is 0600 while the handler fills it`() throws {
        let database = try TemporaryDatabase()
        var modes: [mode_t?] = []
        try database.store().open(with: TemporaryDatabase.key) { db in
            do {
                try db.executeStatements("CREATE TABLE t (x)")
                modes = try database.fileNames().map { database.mode(of: $0) }
                return nil
            } catch { return error }
        }
        check(!modes.isEmpty)
        check(modes.allSatisfy { $0 == 0o600 })
    }

    @Test func `an existing file keeps its mode, and its sidecar files have the same`() throws {
        let database = try TemporaryDatabase()
        try database.openStore().close()
        try require(chmod(database.path, 0o640) == 0)

        let db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (x)")

        check(database.mode(of: "test.db"), equals: 0o640)
        check(database.mode(of: "test.db-wal"), equals: 0o640)
    }

    @Test func `an existing directory keeps its mode`() throws {
        let database = try TemporaryDatabase()
        try require(chmod(database.directory.path, 0o751) == 0)

        try database.openStore().executeUpdate("CREATE TABLE t (x)")

        check(permissions(database.directory.path), equals: 0o751)
    }
}

/// Returns the permission bits of the file at `path`, or nil if none exists.
private func permissions(_ path: String) -> mode_t? {
    var status = stat()
    return lstat(path, &status) == 0 ? status.st_mode & 0o7777 : nil
}
