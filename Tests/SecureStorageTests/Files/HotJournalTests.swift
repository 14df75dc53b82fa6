import Foundation
import SecureStorage
import Testing
import TestSupport

/// Journals left by a crash, found by a store that only reads.
struct HotJournalTests {
    private let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    private func openReadOnly() throws -> SecureDatabaseStore {
        try database.openStore { $0.isReadOnly = true }
    }

    @Test func `a read-only store has a crash's journal played back, and reads`() async throws {
        try await KilledDatabase.make(database, .delete)
        try require(database.fileNames() == ["test.db", "test.db-journal"])

        let db = try openReadOnly()

        try check(db.int(KilledDatabase.count), equals: KilledDatabase.rows)
        try check(db.verifyIntegrity().isSound)
        check(storageError { try db.executeUpdate("DELETE FROM t") }?.code, equals: 8)
        db.close()
        try check(database.fileNames(), equals: ["test.db"])
    }

    #if os(Linux)
        @Test func `without write permission the error names the journal and the remedy`()
            async throws
        {
            try await KilledDatabase.make(database, .delete)
            let before = try DirectorySnapshot(of: database.directory)
            // Root may write any file; another user may not.
            check(chmod(database.directory.path, 0o755), equals: 0)
            for name in ["/test.db", "/test.db-journal"] {
                check(chmod(database.directory.path + name, 0o444), equals: 0)
            }
            await #expect(processExitsWith: .success) { [path = database.path as String] in
                if geteuid() == 0 { check(seteuid(65534), equals: 0) }
                var configuration = SecureDatabaseConfiguration()
                configuration.isReadOnly = true
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                let error = storageError { try db.open(with: TemporaryDatabase.key) }
                check(error?.kind == .openFailed && error?.code == 8)
                let text = error?.description ?? ""
                check(text.contains("test.db-journal\""), "\(text)")
                check(text.contains("may not write"), "\(text)")
            }
            let after = try DirectorySnapshot(of: database.directory)
            check(after.entries.mapValues(\.content), equals: before.entries.mapValues(\.content))
        }
    #endif

    @Test func `a read-only store reads while another store has a transaction open`()
        throws
    {
        let writer = try database.openStore {
            $0.journalMode = .delete
            $0.busyTimeout = .zero
        }
        try writer.executeStatements(
            "CREATE TABLE t (x); INSERT INTO t VALUES (1); BEGIN IMMEDIATE; UPDATE t SET x = 2")
        try require(database.fileNames().contains("test.db-journal"))
        let reader = try openReadOnly()
        try check(reader.int("SELECT x FROM t"), equals: 1)
        reader.close()
        try writer.commit()
        try check(writer.int("SELECT x FROM t"), equals: 2)
    }

    @Test func `a store that keeps the journal mode converts no file, and sets a new file's`()
        throws
    {
        func mode(_ configure: (inout SecureDatabaseConfiguration) -> Void) throws -> String? {
            let db = try database.openStore(configure: configure)
            defer { db.close() }
            try db.executeStatements("CREATE TABLE IF NOT EXISTS t (x); INSERT INTO t VALUES (1)")
            return try db.strings("PRAGMA journal_mode")[0]
        }
        try check(mode { $0.journalMode = .delete }, equals: "delete")
        try check(mode { $0.keepsJournalMode = true }, equals: "delete")
        try check(mode { $0.isReadOnly = false }, equals: "wal")
        try check(
            mode {
                $0.keepsJournalMode = true
                $0.journalMode = .delete
            }, equals: "wal")
        try SecureDatabaseStore.remove(at: database.url)
        try check(mode { $0.keepsJournalMode = true }, equals: "wal")
    }

    @Test func `diagnosing, salvaging and reading leave the journal mode unchanged`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        db.close()
        let before = try Data(contentsOf: database.url)
        let key = DatabaseKey.raw(SecretBytes(copying: TemporaryDatabase.key))
        let copy = try TemporaryDatabase(name: "copy.db")

        _ = try SecureDatabaseStore.diagnose(at: database.url, key: key)
        try SecureDatabaseStore.salvage(at: database.url, key: key, to: copy.url)
        let reader = try openReadOnly()
        _ = try reader.verifyIntegrity()
        try reader.backup(to: copy.url, replacing: true)
        reader.close()

        try check(Data(contentsOf: database.url), equals: before)
        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `a journal that appears and disappears during opening is not an error`() throws {
        let db = try database.openStore { $0.journalMode = .delete }
        defer { db.close() }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        // While a writer holds its lock the journal is in use; its header is zeros until the first
        // record counts.
        try db.beginImmediateTransaction()
        let journal = database.path + "-journal"
        let isDone = Shared(false)
        let hasEnded = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            while !isDone.current {
                let descriptor = open(journal, O_CREAT | O_WRONLY, 0o600)
                _ = write(descriptor, [UInt8](repeating: 0, count: 512), 512)
                close(descriptor)
                unlink(journal)
            }
            hasEnded.signal()
        }
        for _ in 1...300 {
            let error = storageError {
                let reader = try database.openStore { $0.journalMode = .delete }
                reader.close()
            }
            check(error == nil)
        }
        isDone.withLock { $0 = true }
        hasEnded.wait()
    }
}
