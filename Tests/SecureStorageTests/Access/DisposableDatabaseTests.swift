import Foundation
import SecureStorage
import Testing
import TestSupport

/// Databases that go with the last reference to them: `temporary()`.
struct DisposableDatabaseTests {
    private static func exists(_ url: URL) -> Bool {
        FileManager.default.fileExists(atPath: url.path)
    }

    @Test func `a queue and a pool have the schema, are encrypted, and are in a private folder`()
        throws
    {
        for database: any SecureDatabaseWriter in [
            try SecureDatabaseQueue.temporary(migrations: .notes),
            try SecureDatabasePool.temporary(migrations: .notes),
        ] {
            try database.execute("INSERT INTO note (text) VALUES (\("milk"))")
            try check(database.count(in: "note"), equals: 1)
            let url = database.databaseURL
            let start = try FileHandle(forReadingFrom: url).read(upToCount: 6)
            check(start?.count == 6 && start != Data("SQLite".utf8))
            for folder in [url.deletingLastPathComponent(), url] {
                let attributes = try FileManager.default.attributesOfItem(atPath: folder.path)
                let mode = try require(attributes[.posixPermissions] as? Int)
                check(mode & 0o077, equals: 0, "\(folder.path)")
            }
        }
    }

    @Test func `it is gone with the last reference`() throws {
        var pool: SecureDatabasePool? = try .temporary(migrations: .notes)
        let folder = try require(pool?.databaseURL.deletingLastPathComponent())
        var settings = try pool.map { try SecureKeyValueStore(in: $0, name: "settings") }
        try settings?.put("dark", forKey: "theme")
        pool = nil
        check(Self.exists(folder), "the settings use it")
        try check(settings?.getString("theme"), equals: "dark")
        settings = nil
        check(!Self.exists(folder))
    }

    @Test func `closing it keeps it, and it can be opened again only by its holder`() throws {
        let queue = try SecureDatabaseQueue.temporary(migrations: .notes)
        let url = queue.databaseURL
        queue.close()
        check(Self.exists(url))
        check(storageError { try queue.open(with: .passphrase("another")) } != nil)
    }

    @Test func `settings that forbid writing do not count, and copies wait for the disk`() throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.isReadOnly = true
        configuration.createsFile = false
        let queue = try SecureDatabaseQueue.temporary(
            migrations: .notes, configuration: configuration)
        try check(
            queue.read { try $0.int(forQuery: "PRAGMA synchronous") },
            equals: 0)
        let other = try TemporaryDatabase()
        let copy = try SecureDatabaseQueue.open(
            at: URL(fileURLWithPath: other.path), with: .passphrase("x"),
            configuration: queue.configuration)
        try check(
            copy.read { try $0.int(forQuery: "PRAGMA synchronous") },
            equals: 2)
    }

    @Test func `a failing migration leaves nothing`() throws {
        var migrations = SchemaMigrations.notes
        migrations.add("wrong", sql: "CREATE TABLE note (x)")
        let seen = Seen()
        check(
            storageError {
                _ = try SecureDatabasePool.temporary(migrations: migrations) {
                    seen.note($0.databaseURL)
                }
            } != nil)
        let url = try require(seen.url)
        check(!Self.exists(url.deletingLastPathComponent()))
    }

    private final class Seen: @unchecked Sendable {
        private let lock = NSLock()
        private var last: URL?
        var url: URL? { lock.withLock { last } }
        func note(_ url: URL) { lock.withLock { last = url } }
    }

    /// `make campaign NAME=temporary` makes 1,000.
    @Test func `threads that make many leave nothing`() async throws {
        let count = environmentNumber("SECURESTORAGE_ROUNDS", default: 96)
        let folders = try await withThrowingTaskGroup(of: [URL].self) { group in
            for _ in 0..<16 {
                group.addTask {
                    try (0..<count / 16).map { number in
                        let queue = try SecureDatabaseQueue.temporary(migrations: .notes)
                        try Self.insert(number, into: queue)
                        try check(queue.read { try $0.count(in: "note") }, equals: 1)
                        return queue.databaseURL.deletingLastPathComponent()
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        check(Set(folders).count, equals: count / 16 * 16)
        check(folders.filter(Self.exists), equals: [])
    }

    private static func insert(_ number: Int, into queue: SecureDatabaseQueue) throws {
        try queue.execute("INSERT INTO note VALUES (\(number), '')")
    }

    @Test func `what a killed process leaves is removed by the next one`() async throws {
        let database = try TemporaryDatabase()
        let report = database.directory.appendingPathComponent("report").path
        await #expect(processExitsWith: .signal(SIGKILL)) { [report = report as String] in
            let pool = try SecureDatabasePool.temporary()
            try pool.write { try $0.execute("CREATE TABLE note (x)") }
            try Data(pool.databaseURL.path.utf8).write(to: URL(fileURLWithPath: report))
            kill(getpid(), SIGKILL)
        }
        let path = try String(contentsOfFile: report, encoding: .utf8)
        let queue = try SecureDatabaseQueue.temporary()
        let left = URL(fileURLWithPath: path).deletingLastPathComponent()
        check(!Self.exists(left) && !Self.exists(left.deletingLastPathComponent()))
        check(Self.exists(queue.databaseURL))
    }
}
