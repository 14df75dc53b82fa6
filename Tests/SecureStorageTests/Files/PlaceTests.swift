import Foundation
import SecureStorage
import Testing
import TestSupport

/// Paths that cannot hold a database.
///
/// Each is a typed error, and nothing is created or changed there.
struct PlaceTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    private var directory: String { database.directory.path }

    private func makeFile(_ name: String = "real.db") throws -> String {
        let path = directory + "/" + name
        let db = SecureDatabaseStore(fullDatabasePath: path)
        try db.open(with: TemporaryDatabase.key)
        try db.executeUpdate("CREATE TABLE t (x)")
        db.close()
        return path
    }

    @Test func `a directory is refused`() throws {
        for path in [directory, "/", directory + "/."] {
            try database.expectRefusal(.openFailed, path: path)
        }
        try FileManager.default.createDirectory(
            at: database.url, withIntermediateDirectories: false)
        try database.expectRefusal(.openFailed, mentioning: ["directory"])
    }

    @Test func `a path below a file is refused`() throws {
        let file = try makeFile()
        try database.expectRefusal(.openFailed, path: file + "/test.db")
        try database.expectRefusal(.openFailed, path: file + "/new/test.db")
        try database.expectRefusal(.openFailed, path: "/dev/null/test.db")
    }

    @Test func `at most one missing directory is created`() throws {
        let error = try database.expectRefusal(
            .openFailed, path: directory + "/new/newer/test.db")
        check(error?.description.contains("parent"), equals: true)
        try check(database.fileNames(), equals: [])
    }

    @Test func `a read-only store creates neither file nor directory`() throws {
        for path in [database.path, directory + "/new/test.db"] {
            var configuration = SecureDatabaseConfiguration()
            configuration.isReadOnly = true
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)

            let error = storageError {
                try db.open(with: TemporaryDatabase.key) { _ in TemporaryDatabase.Unexpected() }
            }

            check(error?.kind, equals: .openFailed)
            check(error?.code, equals: 14)
            try check(database.fileNames(), equals: [])
        }
    }

    @Test func `a symbolic link is refused, and its target stays unchanged`() throws {
        let file = try makeFile()
        try FileManager.default.createSymbolicLink(
            atPath: database.path, withDestinationPath: file)

        try database.expectRefusal(.openFailed, mentioning: ["symbolic link"])
    }

    @Test func `a dangling symbolic link is refused, and its target is not created`() throws {
        try FileManager.default.createSymbolicLink(
            atPath: database.path, withDestinationPath: directory + "/target.db")

        try database.expectRefusal(.openFailed, mentioning: ["symbolic link"])

        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `a symbolic link in the directory's path is followed`() throws {
        let file = try makeFile("real.db")
        let link = database.directory.appendingPathComponent("link")
        try FileManager.default.createSymbolicLink(
            at: link, withDestinationURL: database.directory)

        try SecureDatabaseStore(fullDatabasePath: link.path + "/real.db")
            .open(with: TemporaryDatabase.key)

        check(FileManager.default.fileExists(atPath: file))
    }

    @Test func `a file with two hard links is refused under both names`() throws {
        let file = try makeFile()
        try FileManager.default.linkItem(atPath: file, toPath: database.path)

        try database.expectRefusal(.openFailed, mentioning: ["hard link"])
        try database.expectRefusal(.openFailed, path: file, mentioning: ["hard link"])

        try FileManager.default.removeItem(at: database.url)
        try SecureDatabaseStore(fullDatabasePath: file).open(with: TemporaryDatabase.key)
    }

    @Test func `a FIFO is refused without waiting for its other end`() throws {
        try require(mkfifo(database.path, 0o600) == 0)

        try database.expectRefusal(.openFailed, mentioning: ["not a regular file"])
    }

    @Test(arguments: ["/dev/null", "/dev/zero", "/dev/tty"])
    func `a device is refused`(_ path: String) throws {
        // Another user than root is refused earlier, for the lack of rights in the directory.
        try database.expectRefusal(
            .openFailed, path: path, mentioning: geteuid() == 0 ? ["not a regular file"] : ["/dev"])
    }

    @Test(arguments: ["", "a<NUL>b.db", "<NUL>", ".", "..", "new/..", "test.db<NUL>-wal"])
    func `a path that names no file is refused`(_ name: String) throws {
        let path =
            name.isEmpty
            ? "" : directory + "/" + name.replacingOccurrences(of: "<NUL>", with: "\0")
        try database.expectRefusal(.openFailed, path: path)
        try check(database.fileNames(), equals: [])
    }

    @Test(arguments: [256, 1000, 5000, 100_000])
    func `a path that is too long is refused`(_ length: Int) throws {
        let name = String(repeating: "a", count: length)
        try database.expectRefusal(.openFailed, path: directory + "/" + name)
        try database.expectRefusal(.openFailed, path: directory + "/" + name + "/test.db")
        try check(database.fileNames(), equals: [])
    }

    /// SQLite allows at most 512 bytes for a path.
    @Test func `a path that is too long for SQLite is refused`() throws {
        var deep = database.directory
        for _ in 1...3 { deep.appendPathComponent(String(repeating: "d", count: 200)) }
        try FileManager.default.createDirectory(at: deep, withIntermediateDirectories: true)

        try database.expectRefusal(.openFailed, path: deep.path + "/test.db")
    }

    @Test(arguments: [1, 100, 200, 247])
    func `a file name may be as long as its sidecar files allow`(_ length: Int) throws {
        let name = String(repeating: "n", count: length)

        let file = try makeFile(name)

        try check(database.fileNames(), equals: [name])
        try SecureDatabaseStore(fullDatabasePath: file).open(with: TemporaryDatabase.key)
    }

    @Test(arguments: [
        "a b.db", "a?mode=ro", "a#b", "a%41b", "a%00b", "file:a.db", "it's", "say \"x\"", "-wal",
        "~", "é", "e\u{301}", "名前.db", "👩‍👩‍👧‍👦", "new\nline", "a:b", "a\\b", ".hidden", "...", "a;b",
        "$HOME",
    ])
    func `a file name may contain anything else`(_ name: String) throws {
        _ = try makeFile(name)

        try check(database.fileNames().map { Array($0.utf8) }, equals: [Array(name.utf8)])
    }

    @Test
    func `a relative path starts at the current directory, and a trailing slash is ignored`()
        async
    {
        await #expect(processExitsWith: .success) { [directory = directory as String] in
            chdir(directory)
            for path in ["relative.db", "./relative.db", "new/../relative.db", "relative.db/"] {
                let db = SecureDatabaseStore(fullDatabasePath: path)
                try FileManager.default.createDirectory(
                    atPath: "new", withIntermediateDirectories: true)
                try db.open(with: TemporaryDatabase.key)
                check(access(directory + "/relative.db", F_OK), equals: 0)
            }
        }
    }

    /// The log may be the last copy of data; a new database would make it unreadable.
    @Test(arguments: ["-wal", "-journal"])
    func `no new database is created beside an orphaned sidecar file`(_ suffix: String) throws {
        try Data("what is left".utf8)
            .write(to: database.directory.appendingPathComponent("test.db" + suffix))

        try database.expectRefusal(.openFailed)
        let error = storageError { try database.store().open(with: TemporaryDatabase.key) }

        check(error?.description.contains(suffix), equals: true)
    }
}
