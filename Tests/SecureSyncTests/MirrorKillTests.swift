import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// An app with a mirror is killed at any time, again and again, over one store.
@Suite(.timeLimit(.minutes(60))) struct MirrorKillTests {
    /// Commits rows in pairs, checkpoints now and then, and writes the number of rows that `flush`
    /// has stored into a file.
    private static func work(_ path: String, _ store: URL, _ acknowledged: FileHandle) async throws
    {
        let pool = SecureDatabasePool(fullDatabasePath: path)
        try await pool.open(with: TemporaryDatabase.key)
        let mirror = try DatabaseMirror(
            of: pool, in: DirectoryObjectStore(directory: store), name: "notes")
        for number in 0... {
            try await pool.write { db in
                for _ in 0..<2 {
                    try db.executeUpdate(
                        "INSERT INTO t (x) VALUES (randomblob(?))", number % 7 * 900)
                }
            }
            if number % 5 == 4 {
                // Incomplete while the mirror reads the log.
                try await pool.writeWithoutTransaction { _ = try? $0.checkpoint(.passive) }
            }
            let count = try await pool.read { try $0.int("SELECT count(*) FROM t") ?? 0 }
            try await mirror.flush()
            try acknowledged.seek(toOffset: 0)
            try acknowledged.write(contentsOf: Data(String(format: "%9d", count).utf8))
        }
    }

    @Test
    func `a kill loses nothing that flush has stored, and no half of a transaction is restored`()
        async throws
    {
        let home = try TemporaryDatabase()
        let folder = URL(fileURLWithPath: home.path).deletingLastPathComponent()
        let (store, log) = (
            folder.appendingPathComponent("store"), folder.appendingPathComponent("acknowledged")
        )
        try home.openStore().executeStatements("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
        try Data().write(to: log)
        var moment = SuddenDeath.Moment()
        var total = 0
        for round in 0..<SuddenDeath.count(12) {
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = home.path as String, store = store.path as String,
                    log = log.path as String, delay = moment.next() + 20_000 as Int
                ] in
                let acknowledged = try #require(FileHandle(forUpdatingAtPath: log))
                SuddenDeath.after(microseconds: delay)
                try await Self.work(path, URL(fileURLWithPath: store), acknowledged)
            }
            let text = try String(contentsOf: log, encoding: .utf8)
            let stored = Int(text.trimmingCharacters(in: .whitespaces)) ?? 0
            let objects = DirectoryObjectStore(directory: store)
            moment.note(wasTooLate: stored > total + 200)
            let url = folder.appendingPathComponent("restored-\(round).db")
            do {
                try await DatabaseMirror.restore(
                    "notes", from: objects, to: url,
                    key: .raw(SecretBytes(copying: TemporaryDatabase.key)))
            } catch SyncError.noMirror where stored == 0 {
                continue
            }
            let db = SecureDatabaseStore(url: url)
            try db.open(with: TemporaryDatabase.key)
            let count = try db.int("SELECT count(*) FROM t") ?? 0
            db.close()
            try SecureDatabaseStore.remove(at: url)
            #expect(count >= stored && count % 2 == 0, "\(count) of \(stored)")
            total = stored
        }
        SuddenDeath.report("mirror: \(total) rows were acknowledged, and none is lost")
        #expect(total > 0)
    }

    @Test func `of mirrors that race for one name, one goes on`() async throws {
        for _ in 0..<environmentNumber("SECURESTORAGE_RACES", default: 20) {
            let home = try TemporaryDatabase()
            let folder = URL(fileURLWithPath: home.path).deletingLastPathComponent()
            let store = DirectoryObjectStore(directory: folder.appendingPathComponent("store"))
            try home.openStore().executeStatements("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
            let others = try (0..<3).map { _ in try home.copiedFiles() }
            let pools = try others.map { try $0.openPool() }
            defer { for pool in pools { pool.close() } }
            let outcomes = await withTaskGroup(of: (mirror: Int, error: (any Error)?).self) {
                group in
                for (index, pool) in pools.enumerated() {
                    group.addTask {
                        do {
                            let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
                            for _ in 0..<5 {
                                try await pool.write {
                                    try $0.executeUpdate("INSERT INTO t (x) VALUES (?)", index)
                                }
                                try await mirror.flush()
                            }
                            return (index, nil)
                        } catch {
                            return (index, error)
                        }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for error in outcomes.compactMap(\.error) {
                #expect(error as? SyncError == .otherMirror("notes"))
            }
            // The one that began last may have stopped none of the others before they had ended.
            let winners = outcomes.filter { $0.error == nil }.map(\.mirror)
            try #require(!winners.isEmpty)
            let url = folder.appendingPathComponent("restored.db")
            try await DatabaseMirror.restore(
                "notes", from: store, to: url,
                key: .raw(SecretBytes(copying: TemporaryDatabase.key)))
            let db = SecureDatabaseStore(url: url)
            try db.open(with: TemporaryDatabase.key)
            defer { db.close() }
            let (least, most) = (
                try db.int("SELECT min(x) FROM t"), try db.int("SELECT max(x) FROM t")
            )
            #expect(least == most && least.map { winners.contains($0) } == true)
            #expect(try db.int("SELECT count(*) FROM t") == 5)
        }
    }
}
