import Foundation
import SecureStorage
import Testing
import TestSupport

struct ValueObservationTests {
    let database: TemporaryDatabase
    let pool: SecureDatabasePool

    init() throws {
        database = try TemporaryDatabase()
        pool = try database.openPool()
        try run("CREATE TABLE t (id INTEGER PRIMARY KEY, a INTEGER); CREATE TABLE u (a)")
    }

    private func run(_ sql: String) throws {
        try pool.write { try $0.executeStatements(sql) }
    }

    struct Failure: Error {}

    /// Returns the values of a query and counts its runs.
    private func counted(
        _ runs: Shared<Int>, _ sql: String
    ) -> DatabaseValues<Int?> {
        pool.values { db in
            runs.withLock { $0 += 1 }
            return try db.int(forQuery: sql)
        }
    }

    @Test(arguments: [
        "SELECT count(*) FROM t", "SELECT sum(a) FROM t WHERE id > 0", "SELECT n FROM v",
        "SELECT count(*) FROM u WHERE a IN (SELECT a FROM t)", "SELECT (SELECT max(a) FROM t)",
        "WITH c AS (SELECT * FROM t) SELECT count(*) FROM c",
    ])
    func `the value arrives immediately, and again when a table it reads has changed`(
        _ sql: String
    ) async throws {
        try run("INSERT INTO t VALUES (1, 1); INSERT INTO u VALUES (1), (2)")
        try run("CREATE VIEW v AS SELECT count(*) AS n FROM t")
        var values = pool.values { try $0.int(forQuery: sql) ?? 0 }.makeAsyncIterator()
        try await check(values.next()?.get(), equals: 1)
        try run("INSERT INTO t VALUES (2, 2)")
        try await check(values.next()?.get() ?? 0 > 1)
    }

    @Test func `a queue delivers values as well`() async throws {
        let observed = try ObservedDatabase()
        var values = observed.queue.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
            .makeAsyncIterator()
        try await check(values.next()?.get(), equals: 0)
        try observed.run("INSERT INTO t VALUES (1, 1)")
        try await check(values.next()?.get(), equals: 1)
    }

    @Test func `tables that were not read cause no run, and equal values are delivered once`()
        async throws
    {
        let runs = Shared(0)
        var values = counted(runs, "SELECT count(*) FROM t WHERE a > 0").makeAsyncIterator()
        try await check(values.next()?.get(), equals: 0)
        // When this value arrives, the observer has had its turn.
        try run("INSERT INTO t VALUES (1, 1)")
        try await check(values.next()?.get(), equals: 1)
        let before = runs.current
        try run("INSERT INTO u VALUES (1)")
        try run("INSERT INTO t VALUES (2, 0)")
        async let next = values.next()
        // The write to `t`, which the query reads, causes a run but no new value.
        while runs.current == before { try await Task.sleep(for: .milliseconds(1)) }
        try run("INSERT INTO u VALUES (2)")
        try run("INSERT INTO t VALUES (3, 1)")
        try await check(next?.get(), equals: 2)
        check(runs.current, equals: before + 2)
    }

    @Test func `the tables read are recorded again at each run`() async throws {
        let runs = Shared(0)
        var values = pool.values { db in
            runs.withLock { $0 += 1 }
            guard try db.int(forQuery: "SELECT count(*) FROM t") ?? 0 > 0 else { return -1 }
            return try db.int(forQuery: "SELECT count(*) FROM u") ?? 0
        }.makeAsyncIterator()
        try await check(values.next()?.get(), equals: -1)
        try run("INSERT INTO t VALUES (1, 1)")
        try await check(values.next()?.get(), equals: 0)
        try run("INSERT INTO u VALUES (1)")
        try await check(values.next()?.get(), equals: 1)
    }

    @Test func `a full-text query and its table's shadow tables are observed`() async throws {
        try run("CREATE VIRTUAL TABLE f USING fts5(x)")
        try run("CREATE VIRTUAL TABLE words USING fts5vocab(f, row)")
        var matches = pool.values { try $0.int(forQuery: "SELECT count(*) FROM f('word')") }
            .makeAsyncIterator()
        var words = pool.values { try $0.int(forQuery: "SELECT count(*) FROM words") }
            .makeAsyncIterator()
        try await check(matches.next()?.get(), equals: 0)
        try await check(words.next()?.get(), equals: 0)
        try run("INSERT INTO f VALUES ('a word')")
        try await check(matches.next()?.get(), equals: 1)
        try await check(words.next()?.get(), equals: 2)
    }

    @Test func `a change of the schema causes a run`() async throws {
        try run("INSERT INTO u VALUES (1)")
        var columns = pool.values { db in
            let rs = try db.executeQuery("SELECT * FROM u")
            defer { rs.close() }
            _ = try rs.next()
            return rs.columnCount
        }.makeAsyncIterator()
        try await check(columns.next()?.get(), equals: 1)
        try run("ALTER TABLE u ADD COLUMN b")
        try await check(columns.next()?.get(), equals: 2)
    }

    @Test func `an error is delivered and does not end the sequence`() async throws {
        var values = pool.values { try $0.int(forQuery: "SELECT count(*) FROM missing") }
            .makeAsyncIterator()
        let first = await values.next()
        #expect(throws: SecureStorageError.self) { try first?.get() }
        try run("CREATE TABLE missing (a)")
        try await check(values.next()?.get(), equals: 0)
        try run("DROP TABLE missing")
        let later = await values.next()
        #expect(throws: SecureStorageError.self) { try later?.get() }
        try run("CREATE TABLE missing (a); INSERT INTO missing VALUES (1)")
        try await check(values.next()?.get(), equals: 1)
    }

    @Test func `commits during a run cause one more run`() async throws {
        let runs = Shared(0)
        let pool = pool
        var values = pool.values { db in
            let count = try db.int(forQuery: "SELECT count(*) FROM t") ?? 0
            if runs.withLock({
                $0 += 1; return $0
            }) == 2 {
                // Writes on another connection, from another thread.
                let other = Thread {
                    for number in 10..<60 {
                        try? pool.write {
                            try $0.executeUpdate("INSERT INTO t VALUES (?, 1)", values: [number])
                        }
                    }
                }
                other.start()
                while !other.isFinished { usleep(1000) }
            }
            return count
        }.makeAsyncIterator()
        try await check(values.next()?.get(), equals: 0)
        try run("INSERT INTO t VALUES (1, 1)")
        try await check(values.next()?.get(), equals: 1)
        let before = runs.current
        try await check(values.next()?.get(), equals: 51)
        check(runs.current, equals: before + 1)
    }

    @Test func `no change is lost between the first run and the registration`() async throws {
        let pool = pool
        for round in 1...50 {
            try run("DELETE FROM t")
            let writer = Thread {
                for number in 1...20 {
                    try? pool.write {
                        try $0.executeUpdate("INSERT INTO t VALUES (?, 1)", values: [number])
                    }
                }
            }
            writer.start()
            var values = pool.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
                .makeAsyncIterator()
            var last: Int?
            while last != 20, let value = await values.next() { last = try value.get() }
            check(last, equals: 20, "round \(round)")
        }
    }

    @Test func `cancelling the task ends the sequence`() async throws {
        let (stream, received) = AsyncStream.makeStream(of: Int?.self)
        let values = pool.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
        let task = Task {
            for await value in values { received.yield(try? value.get()) }
        }
        for await value in stream {
            check(value, equals: 0)
            break
        }
        task.cancel()
        await task.value
    }

    @Test func `values of a closed file continue once it is open`() async throws {
        let other = try TemporaryDatabase()
        let pool = SecureDatabasePool(url: other.url)
        var values = pool.values { _ in 1 }.makeAsyncIterator()
        let first = await values.next()
        #expect(throws: SecureStorageError.self) { try first?.get() }
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await check(values.next()?.get(), equals: 1)
    }
}
