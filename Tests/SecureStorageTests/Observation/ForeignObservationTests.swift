import Foundation
import TestSupport
import Testing

@testable import SecureStorage

/// Commits of other connections and processes.
@Suite(.serialized, .timeLimit(.minutes(10))) struct ForeignObservationTests {
    private static let modes: [SecureDatabaseConfiguration.JournalMode] = [.wal, .delete]

    /// Commits on a separate connection.
    private func commitElsewhere(
        _ observed: ObservedDatabase, mode: SecureDatabaseConfiguration.JournalMode = .wal,
        _ sql: String = "INSERT INTO t (a) VALUES (1)"
    ) throws {
        let other = try observed.database.openStore { $0.journalMode = mode }
        try other.executeStatements(sql)
        other.close()
    }

    /// Makes many commits on another connection inside one block of the queue.
    private func writeWhileBusy(
        _ observed: ObservedDatabase, _ other: SecureDatabaseStore
    ) throws {
        try observed.queue.inDatabase { _ in
            for _ in 1...200 { try other.executeUpdate("INSERT INTO t (a) VALUES (1)") }
            usleep(100_000)
        }
    }

    /// Returns an iterator whose observation has begun.
    private func observe(
        _ observed: ObservedDatabase, in tables: [String]? = nil
    ) throws -> DatabaseChanges.Iterator {
        let iterator = observed.queue.changes(in: tables).makeAsyncIterator()
        try observed.queue.inDatabase { _ in }
        return iterator
    }

    @Test(arguments: modes)
    func `another connection's commit is reported without its tables`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        let observed = try ObservedDatabase { $0.journalMode = mode }
        var changes = try observe(observed, in: ["u"])
        for _ in 1...3 {
            try commitElsewhere(observed, mode: mode)
            let change = await changes.next()
            #expect(change == .foreign)
        }
    }

    @Test func `the connection's own commit is reported once and not as foreign`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        for number in 1...5 {
            try observed.run("INSERT INTO t VALUES (\(number), 1)")
            let change = await changes.next()
            #expect(change?.tables.kinds == ["t": .insert])
            #expect(change?.includesForeign == false)
            // Time for wake-ups caused by this write.
            try await Task.sleep(for: .milliseconds(number == 5 ? 2500 : 100))
        }
        try observed.run("INSERT INTO u VALUES (1)")
        let last = await changes.next()
        #expect(last?.tables.kinds == ["u": .insert])
        #expect(last?.hasUnknownTables == false)
    }

    @Test func `another connection's commit is reported with or before the own one after it`()
        async throws
    {
        let observed = try ObservedDatabase()
        for number in 1...20 {
            var changes = try observe(observed)
            try commitElsewhere(observed)
            try observed.run("INSERT INTO u VALUES (\(number))")
            var first = await changes.next()
            #expect(first?.includesForeign == true)
            if first?.tables["u"] == nil { first = await changes.next() }
            #expect(first?.tables["u"] != nil)
        }
    }

    @Test func `reads and rollbacks elsewhere are not reported`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        try commitElsewhere(
            observed, "SELECT * FROM t; BEGIN; INSERT INTO t VALUES (1, 1); ROLLBACK")
        try await Task.sleep(for: .milliseconds(200))
        try observed.run("INSERT INTO u VALUES (1)")
        #expect(await changes.next()?.includesForeign == false)
    }

    @Test func `commits made while the writer is busy are reported as one change`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        let other = try observed.database.openStore()
        try writeWhileBusy(observed, other)
        #expect(await changes.next() == .foreign)
        try await Task.sleep(for: .milliseconds(100))
        try observed.run("INSERT INTO u VALUES (1)")
        #expect(await changes.next()?.includesForeign == false)
    }

    @Test func `values are queried again after another connection's commit`() async throws {
        let observed = try ObservedDatabase()
        var counts = observed.queue.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
            .makeAsyncIterator()
        #expect(try await counts.next()?.get() == 0)
        try commitElsewhere(observed)
        #expect(try await counts.next()?.get() == 1)
    }

    @Test func `a commit hidden by an open result set is reported when it closes`() async throws {
        let observed = try ObservedDatabase()
        try observed.run("INSERT INTO t VALUES (1, 1), (2, 1)")
        var changes = try observe(observed)
        // Opened on the store itself, so no block of the queue closes it.
        let rs = try observed.queue.databaseStore.executeQuery("SELECT * FROM t")
        #expect(try rs.next())
        try commitElsewhere(observed)
        try await Task.sleep(for: .milliseconds(300))
        rs.close()
        #expect(await changes.next() == .foreign)
    }

    @Test func `a read-only queue reports changes`() async throws {
        let observed = try ObservedDatabase()
        let reader = SecureDatabaseQueue(
            databaseStore: try observed.database.openStore { $0.isReadOnly = true })
        var changes = reader.changes().makeAsyncIterator()
        try await reader.inDatabase { _ in }
        try observed.run("INSERT INTO t VALUES (1, 1)")
        #expect(await changes.next() == .foreign)
    }

    @Test func `a long transaction elsewhere is reported when it commits`() async throws {
        let observed = try ObservedDatabase()
        var changes = try observe(observed)
        let other = try observed.database.openStore { $0.cacheSize = 0 }
        // Large enough for pages to be written before the commit.
        try other.executeStatements(
            """
            PRAGMA cache_size = 10; BEGIN IMMEDIATE;
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
            INSERT INTO t (a) SELECT randomblob(500) FROM n
            """)
        try await Task.sleep(for: .milliseconds(3500))
        let committed = ContinuousClock.now
        try other.executeStatements("COMMIT")
        #expect(await changes.next() == .foreign)
        print("after a long transaction: \(ContinuousClock.now - committed)")
    }

    #if os(Linux)
        @Test func `the watch survives files that are removed and created again`() async throws {
            let database = try TemporaryDatabase()
            let events = Shared(0)
            let watch = FileWatch(path: database.path, queue: DispatchQueue(label: "test")) {
                events.withLock { $0 += 1 }
            }
            let log = database.path + "-wal"
            for round in 1...3 {
                for step in ["make", "write", "remove"] {
                    let before = events.current
                    switch step {
                    case "make": #expect(FileManager.default.createFile(atPath: log, contents: nil))
                    case "write":
                        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
                        try file.write(contentsOf: Data([1]))
                        try file.close()
                    default: try FileManager.default.removeItem(atPath: log)
                    }
                    for _ in 1...1000 where events.current == before { usleep(1000) }
                    #expect(events.current > before, "round \(round): \(step)")
                }
            }
            let before = events.current
            try Data([1]).write(to: database.directory.appendingPathComponent("other"))
            usleep(50_000)
            #expect(events.current == before)
            watch?.end()
        }

        @Test func `another process's commits arrive within 50 milliseconds`() async throws {
            let database = try TemporaryDatabase()
            let db = try database.openStore()
            try db.executeStatements("CREATE TABLE t (id INTEGER PRIMARY KEY)")
            db.close()
            let directory = database.directory
            let began = Shared<[UInt64]>([])
            // A thread, and a process for the observer: the tests that run beside this one keep the
            // threads of tasks busy.
            let writer = Thread {
                let ready = directory.appendingPathComponent("ready").path
                for _ in 1...10_000 where access(ready, F_OK) != 0 { usleep(10_000) }
                guard let db = try? database.openStore() else { return }
                for _ in 1...25 {
                    usleep(100_000)
                    began.withLock { $0.append(monotonicTime()) }
                    try? db.executeUpdate("INSERT INTO t DEFAULT VALUES")
                }
                usleep(100_000)
                try? Data().write(to: directory.appendingPathComponent("done"))
            }
            writer.start()
            await #expect(processExitsWith: .success) {
                [path = database.path as String, directory = directory.path as String] in
                let pool = SecureDatabasePool(fullDatabasePath: path)
                try await pool.open(with: .raw(TemporaryDatabase.key))
                let changes = pool.changes(in: ["t"])
                let arrivals = Shared<[UInt64]>([])
                let observer = Task {
                    for await change in changes where change.includesForeign {
                        arrivals.withLock { $0.append(monotonicTime()) }
                    }
                }
                try await Task.sleep(for: .milliseconds(100))
                try Data().write(to: URL(fileURLWithPath: directory + "/ready"))
                while access(directory + "/done", F_OK) != 0 {
                    try await Task.sleep(for: .milliseconds(20))
                }
                observer.cancel()
                await observer.value
                let times = arrivals.current.map { "\($0)" }.joined(separator: "\n")
                try Data(times.utf8).write(to: URL(fileURLWithPath: directory + "/times"))
            }
            let arrivals = try String(
                contentsOf: directory.appendingPathComponent("times"), encoding: .utf8
            ).split(separator: "\n").compactMap { UInt64($0) }
            let delays = began.current.compactMap { began in
                arrivals.first { $0 > began }.map { Double($0 - began) / 1e6 }
            }.sorted()
            #expect(delays.count == 25)
            let median = delays[delays.count / 2]
            print(
                "from another process, with the commit itself: median \(median) ms, "
                    + "least \(delays[0]) ms, most \(delays[delays.count - 1]) ms")
            // Measured on an idle machine; other tests may run beside this one.
            #expect(median < (Sanitizer.isPresent ? 500 : 50))
        }

        @Test func `an idle observer uses no processor time`() async throws {
            let database = try TemporaryDatabase()
            try database.openStore().executeUpdate("CREATE TABLE t (a)")
            await #expect(processExitsWith: .success) {
                [path = database.path as String] in
                let pool = SecureDatabasePool(fullDatabasePath: path)
                try await pool.open(with: .raw(TemporaryDatabase.key))
                let changes = pool.changes()
                let values = pool.values { try $0.int(forQuery: "SELECT count(*) FROM t") }
                let observers = [
                    Task { for await _ in changes {} }, Task { for await _ in values {} },
                ]
                // The checks that follow the opening.
                try await Task.sleep(for: .seconds(2))
                let before = try processorTicks()
                try await Task.sleep(for: .seconds(5))
                let ticks = try processorTicks() - before
                #expect(ticks <= 1)
                // Awaited because LeakSanitizer reports what a suspended task holds as a leak.
                for observer in observers {
                    observer.cancel()
                    await observer.value
                }
                await pool.close()
            }
        }
    #endif
}

#if os(Linux)
    /// Nanoseconds of a clock shared by all processes.
    private func monotonicTime() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// The utime and stime of this process, in hundredths of a second.
    private func processorTicks() throws -> Int {
        let stat = try String(contentsOfFile: "/proc/self/stat", encoding: .utf8)
        let fields = stat.split(separator: ")").last?.split(separator: " ") ?? []
        guard fields.count > 12, let user = Int(fields[11]), let system = Int(fields[12]) else {
            throw CocoaError(.fileReadCorruptFile)
        }
        return user + system
    }
#endif
