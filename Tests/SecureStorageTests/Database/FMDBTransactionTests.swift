import Foundation
import SecureStorage
import Testing
import TestSupport

struct FMDBTransactionTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore
    let queue: SecureDatabaseQueue

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeUpdate("CREATE TABLE t (a)")
        queue = SecureDatabaseQueue(databaseStore: db)
    }

    private func insert(_ number: Int) throws {
        try db.executeUpdate("INSERT INTO t VALUES (?)", number)
    }

    private func rows() throws -> [String?] { try db.strings("SELECT a FROM t ORDER BY a") }

    struct Failure: Error {}

    @Test func `FMDB beginTransaction, beginImmediateTransaction keep other writers out`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        for begin in [db.beginTransaction, db.beginImmediateTransaction] {
            try begin()
            check(
                storageError { try rival.executeUpdate("INSERT INTO t VALUES (0)") }?.code,
                equals: 5)
            check(storageError { try begin() }?.code, equals: 1)
            try db.rollback()
        }
        try check(rows().isEmpty)
    }

    @Test(arguments: ["a", "two words", "quo\"te'", "🗝️", "select", "a;--", " "])
    func `FMDB startSavePointWithName: accepts any text`(_ name: String) throws {
        try db.startSavePoint(name)
        try insert(1)
        try db.startSavePoint("inner")
        try insert(2)
        try db.rollbackToSavePoint("inner")
        try db.releaseSavePoint("inner")
        try db.releaseSavePoint(name)
        try check(!db.isInTransaction())
        try check(rows(), equals: ["1"])
    }

    @Test func `FMDB startSavePointWithName: an empty name, a NUL, an unknown name are errors`()
        throws
    {
        for name in ["", "a\0b"] {
            check(storageError { try db.startSavePoint(name) }?.code, equals: 21)
            check(storageError { try db.releaseSavePoint(name) }?.code, equals: 21)
            check(storageError { try db.rollbackToSavePoint(name) }?.code, equals: 21)
        }
        check(storageError { try db.releaseSavePoint("nobody") }?.code, equals: 1)
        check(storageError { try db.rollbackToSavePoint("nobody") }?.code, equals: 1)
        try check(!db.isInTransaction())
        db.close()
        check(storageError { try db.startSavePoint("a") }, equals: .closed)
    }

    @Test func `FMDB inSavePoint: true and an error roll back, false keeps the changes`() throws {
        try db.beginTransaction()
        try db.inSavePoint { _ in
            try insert(1)
            return false
        }
        try db.inSavePoint { _ in
            try insert(2)
            return true
        }
        #expect(throws: Failure.self) {
            try db.inSavePoint { _ in
                try insert(3)
                throw Failure()
            }
        }
        try check(db.isInTransaction())
        try db.commit()
        try db.inSavePoint { _ in
            try insert(4)
            return false
        }
        try check(!db.isInTransaction())
        try check(rows(), equals: ["1", "4"])
    }

    @Test func `FMDB FMDatabaseQueue inTransaction, inImmediateTransaction, inSavePoint`() throws {
        for run in [queue.inTransaction, queue.inImmediateTransaction, queue.inSavePoint] {
            try run { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                return false
            }
            try run { db in
                try db.executeUpdate("INSERT INTO t VALUES (2)")
                return true
            }
        }
        try check(rows(), equals: ["1", "1", "1"])
    }

    @Test func `FMDB inTransaction, inImmediateTransaction keep other writers out`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        for run in [queue.inTransaction, queue.inImmediateTransaction] {
            try run { _ in
                check(
                    storageError { try rival.executeUpdate("INSERT INTO t VALUES (0)") }?.code,
                    equals: 5)
                return false
            }
        }
    }

    // MARK: - FMDB's defects

    @Test func `unlike FMDB, a commit that fails in a queue's transaction is thrown`() throws {
        try db.executeStatements(
            """
            CREATE TABLE parent (id INTEGER PRIMARY KEY);
            CREATE TABLE child (id REFERENCES parent DEFERRABLE INITIALLY DEFERRED);
            """)
        for run in [queue.inTransaction, queue.inImmediateTransaction, queue.inSavePoint] {
            let error = storageError {
                try run { db in
                    try db.executeUpdate("INSERT INTO child VALUES (1)")
                    return false
                }
            }
            check(error?.code, equals: 19)
            try check(!db.isInTransaction())
        }
        try check(db.int(forQuery: "SELECT count(*) FROM child"), equals: 0)
    }

    @Test func `unlike FMDB, a begin that fails is thrown and the block does not run`() throws {
        let rival = try database.openStore { $0.busyTimeout = .zero }
        try db.beginTransaction()
        var ran = false
        let impatient = SecureDatabaseQueue(databaseStore: rival)
        for run in [impatient.inTransaction, impatient.inImmediateTransaction] {
            let error = storageError {
                try run { _ in
                    ran = true
                    return false
                }
            }
            check(error?.code, equals: 5)
        }
        check(!ran)
        try db.rollback()
    }

    @Test func `unlike FMDB, the queue never reopens a closed store by itself`() throws {
        try queue.inDatabase { $0.close() }
        check(storageError { try queue.inTransaction { _ in false } }, equals: .closed)
        check(storageError { try queue.inSavePoint { _ in false } }, equals: .closed)
        check(storageError { try queue.checkpoint() }, equals: .closed)
        check(storageError { _ = try queue.inDatabase { try $0.userVersion } }, equals: .closed)
        check(!db.isOpen())
    }

    @Test func `unlike FMDB, a nested call on a queue runs inline`() throws {
        try queue.inTransaction { db in
            try queue.inSavePoint { db in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
                return true
            }
            try queue.inImmediateTransaction { db in
                try db.executeUpdate("INSERT INTO t VALUES (2)")
                return false
            }
            return try queue.inDatabase { try $0.int(forQuery: "SELECT a FROM t") } != 2
        }
        try check(rows(), equals: ["2"])
    }

    @Test func `unlike FMDB, next throws instead of ending early`() throws {
        let rs = try db.executeQuery(
            "SELECT abs(column1) FROM (VALUES (1), (-9223372036854775807 - 1))")
        try check(rs.next())
        check(storageError { _ = try rs.next() }?.code, equals: 1)
    }

    @Test func `unlike FMDB, a wrong key fails in open`() throws {
        let other = database.store()
        check(
            storageError { try other.open(with: Data(repeating: 9, count: 32)) }?.kind,
            equals: .authenticationFailed)
        check(!other.isOpen())
    }

    // MARK: - Checkpoints

    @Test(arguments: CheckpointMode.allCases)
    func `FMDB checkpoint: moves the log into the file and counts its frames`(
        _ mode: CheckpointMode
    ) throws {
        try insert(1)
        let frames = try queue.checkpoint(mode)
        check(frames.logFrames, equals: frames.checkpointedFrames)
        check((frames.logFrames > 0), equals: (mode != .truncate))
        let log = URL(fileURLWithPath: database.path + "-wal")
        try check(Data(contentsOf: log).isEmpty, equals: (mode == .truncate))
        try check(rows(), equals: ["1"])
    }

    @Test func `FMDB checkpoint: is zeros outside WAL mode, and an error for an unknown database`()
        throws
    {
        let other = try TemporaryDatabase()
        let plain = try other.openStore { $0.journalMode = .delete }
        try plain.executeUpdate("CREATE TABLE t (a)")
        try check(plain.checkpoint(.truncate) == (0, 0))
        check(storageError { try db.checkpoint(database: "nobody") }?.code, equals: 1)
        check(storageError { try db.checkpoint(database: "main\0") }?.code, equals: 1)
        try check(db.checkpoint(database: "main").logFrames > 0)
    }

    @Test func `FMDB checkpoint: is refused in a transaction and while a result set is open`()
        throws
    {
        try insert(1)
        try queue.inTransaction { _ in
            check(storageError { try queue.checkpoint() }?.code, equals: 6)
            return false
        }
        let rs = try db.executeQuery("SELECT a FROM t UNION SELECT 2")
        try check(rs.next())
        check(storageError { try db.checkpoint(.truncate) }?.code, equals: 6)
        try check(rs.next())
        rs.close()
        try db.checkpoint(.truncate)
    }

    @Test(arguments: CheckpointMode.allCases)
    func `FMDB checkpoint: is busy while another connection writes, and works afterwards`(
        _ mode: CheckpointMode
    ) throws {
        let impatient = try database.openStore { $0.busyTimeout = .milliseconds(10) }
        try db.beginTransaction()
        try insert(1)
        check(storageError { try impatient.checkpoint(mode) }?.code, equals: 5)
        try db.commit()
        try check(impatient.int(forQuery: "SELECT a FROM t"), equals: 1)
        let frames = try impatient.checkpoint(mode)
        check(frames.logFrames, equals: frames.checkpointedFrames)
    }
}
