#if os(Linux)
    import Foundation
    import Testing
    import TestSupport

    @testable import SecureStorage
    @testable import SecureStorageTests

    /// What watching a file costs, and how soon it reports.
    struct FileWatchTests {
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
                    case "make": check(FileManager.default.createFile(atPath: log, contents: nil))
                    case "write":
                        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
                        try file.write(contentsOf: Data([1]))
                        try file.close()
                    default: try FileManager.default.removeItem(atPath: log)
                    }
                    for _ in 1...1000 where events.current == before { usleep(1000) }
                    check(events.current > before, "round \(round): \(step)")
                }
            }
            let before = events.current
            try Data([1]).write(to: database.directory.appendingPathComponent("other"))
            usleep(50_000)
            check(events.current, equals: before)
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
            check(delays.count, equals: 25)
            let median = delays[delays.count / 2]
            print(
                "from another process, with the commit itself: median \(median) ms, "
                    + "least \(delays[0]) ms, most \(delays[delays.count - 1]) ms")
            // Measured on an idle machine; other tests may run beside this one.
            check(median < (Sanitizer.isPresent ? 500 : 50))
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
                // On a busy machine, what follows the opening may take long; an observer that is
                // not idle has no quiet time at all.
                var ticks = Int.max
                for _ in 0..<6 where ticks > 1 {
                    let before = try processorTicks()
                    try await Task.sleep(for: .seconds(3))
                    ticks = try processorTicks() - before
                }
                check(ticks <= 1)
                // Awaited because LeakSanitizer reports what a suspended task holds as a leak.
                for observer in observers {
                    observer.cancel()
                    await observer.value
                }
                await pool.close()
            }
        }
    }

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
