import Foundation
import SecureStorage
import Testing
import TestSupport

struct AggregateTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements(
            "CREATE TABLE t (g, x); INSERT INTO t VALUES (1, 2), (1, 3), (2, 5), (2, 7)")
    }

    private func makeProduct() throws {
        try db.makeAggregate(named: "product", argumentCount: 1, initial: Int64(1)) {
            $0 *= Int64(sqliteValue: $1[0]) ?? 1
        } final: {
            $0
        }
    }

    @Test func `an aggregate has one state for each group`() throws {
        try makeProduct()
        try check(
            db.strings("SELECT product(x) FROM t GROUP BY g ORDER BY g"), equals: ["6", "35"])
        try check(db.strings("SELECT product(x) || product(g) FROM t"), equals: ["2104"])
    }

    @Test func `a group without rows has the initial state's result`() throws {
        try makeProduct()
        try check(db.int("SELECT product(x) FROM t WHERE 0"), equals: 1)
    }

    @Test func `an aggregate's error ends the statement and names the aggregate`() throws {
        struct Refused: Error {}
        try db.makeAggregate(named: "bad_step", initial: 0) { _, _ in
            throw Refused()
        } final: {
            $0
        }
        try db.makeAggregate(named: "bad_end", initial: 0) { _, _ in
        } final: { _ in
            throw Refused()
        }
        for name in ["bad_step", "bad_end"] {
            let error = storageError { _ = try db.int("SELECT \(name)(x) FROM t") }
            check(error?.code, equals: 1)
            check(error?.description.contains("the function \(name) failed: Refused"), equals: true)
        }
    }

    @Test func `states are freed when a query ends early`() throws {
        final class State {
            let counts: Shared<[Int]>
            init(_ counts: Shared<[Int]>) {
                self.counts = counts
                counts.withLock {
                    $0[0] += 1
                    $0[1] += 1
                }
            }
            deinit { counts.withLock { $0[0] -= 1 } }
        }
        let counts = Shared([0, 0])
        try db.makeAggregate(named: "kept", argumentCount: 1, initial: State(counts)) { _, _ in
        } final: { _ in
            1
        }
        // The index delivers the groups in order, so each one ends when the next has begun.
        try db.executeUpdate("CREATE INDEX i ON t (g, x)")
        for sql in ["SELECT kept(x) FROM t GROUP BY g", "SELECT kept(g) FROM t GROUP BY x"] {
            let rows = try db.executeQuery(sql)
            try check(rows.next())
            rows.close()
            check(counts.current[0], equals: 0)
        }
        try db.makeFunction(named: "stop", argumentCount: 1) {
            if $0[0] == .integer(5) { throw SecureStorageError.typeConversionFailed }
            return nil
        }
        check(storageError { _ = try db.strings("SELECT kept(stop(x)) FROM t") }?.code, equals: 1)
        // All states that were made have been freed.
        check(counts.current[0], equals: 0)
        check(counts.current[1] >= 3)
    }

    @Test func `an aggregate that closes the store fails, and the store stays open`() throws {
        try db.makeAggregate(named: "closing", initial: 0) { [unowned db] _, _ in
            db.close()
        } final: {
            $0
        }
        check(storageError { _ = try db.strings("SELECT closing(x) FROM t") }?.code, equals: 21)
        try check(db.int("SELECT count(*) FROM t"), equals: 4)
    }
}
