import Foundation
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport
@testable import SecureStorageTests

/// Copies at regular times, in a folder with other files.
struct BackupScheduleTests {
    let database: TemporaryDatabase
    let folder: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase(name: "notes.db")
        folder = try TemporaryDatabase(name: "unused")
    }

    /// What a schedule has reported, and the time by its clock.
    private final class Log: Sendable {
        let made = Locked<[BackupSchedule.Backup]>([])
        let failures = Locked<[any Error]>([])
        let time = Locked(Date(timeIntervalSince1970: 1_795_533_150.123))

        func advance(_ seconds: Double) { time.withLock { $0 += seconds } }

        /// Waits until a condition holds, or a minute has passed.
        func wait(until condition: (Log) -> Bool) async throws {
            let end = ContinuousClock.now + .seconds(60)
            while !condition(self), .now < end { try await Task.sleep(for: .milliseconds(5)) }
            check(condition(self))
        }
    }

    private func makePool(rows: Int = 20) throws -> SecureDatabasePool {
        let pool = try database.openPool()
        try pool.write { db in
            try db.executeUpdate("CREATE TABLE IF NOT EXISTS t (x)")
            for _ in 0..<rows {
                try db.executeUpdate("INSERT INTO t VALUES (randomblob(2000))")
            }
        }
        return pool
    }

    private func makeSchedule(
        of database: any SecureDatabaseReader, in directory: URL? = nil, _ log: Log,
        _ change: (inout BackupSchedule.Settings) -> Void = { _ in }
    ) throws -> BackupSchedule {
        var settings = BackupSchedule.Settings()
        change(&settings)
        return try BackupSchedule(
            of: database, in: directory ?? folder.directory, name: nil, settings: settings,
            onSuccess: { backup in log.made.withLock { $0.append(backup) } },
            onFailure: { error in log.failures.withLock { $0.append(error) } },
            clock: { log.time.withLock { $0 } })
    }

    private func rowCount(_ backup: BackupSchedule.Backup) throws -> Int? {
        let db = SecureDatabaseStore(url: backup.url)
        try db.open(with: TemporaryDatabase.key)
        defer { db.close() }
        try check(db.verifyIntegrity().isSound)
        return try db.int("SELECT count(*) FROM t")
    }

    @Test func `a copy has a name with its time, and the rows and the key of the database`()
        async throws
    {
        let pool = try makePool()
        let log = Log()
        let schedule = try makeSchedule(of: pool, log)
        let backup = try await schedule.backUp()
        check(backup.url.lastPathComponent, equals: "notes-20261124T151230.123Z.db")
        check(backup.isVerified)
        try check(schedule.backups(), equals: [backup])
        try check(rowCount(backup), equals: 20)
        check(
            storageError {
                try SecureDatabaseStore(url: backup.url).open(with: "another key")
            }?.resultCode == nil)
        // Another one in the same millisecond has the next free name.
        let next = try await schedule.backUp()
        check(next.url.lastPathComponent, equals: "notes-20261124T151230.124Z.db")
        try check(folder.fileNames().filter { !$0.hasPrefix(".") }.count, equals: 2)
    }

    @Test func `it runs until it is cancelled, and the folder has what the settings keep`()
        async throws
    {
        let pool = try makePool()
        let log = Log()
        let schedule = try BackupSchedule(
            of: pool, in: folder.directory,
            settings: {
                var settings = BackupSchedule.Settings()
                settings.every = .milliseconds(50)
                (settings.keepsHourly, settings.keepsDaily, settings.keepsWeekly) = (1, 0, 0)
                return settings
            }(),
            onSuccess: { backup in log.made.withLock { $0.append(backup) } },
            onFailure: { error in log.failures.withLock { $0.append(error) } })
        let running = Task { try await schedule.run() }
        try await log.wait { $0.made.withLock { $0.count } >= 5 }
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        let made = log.made.withLock { $0 }
        check(made.map(\.url.path), equals: made.map(\.url.path).sorted())
        // The last of the hour; two if the hour has just changed, or one was made without a report.
        check((1...2).contains(try schedule.backups().count))
        check(log.failures.withLock { $0.isEmpty })
        try check(folder.fileNames().filter { $0.contains("unfinished") }.isEmpty)
    }

    @Test func `a schedule that is started again reads from the folder when the next copy is due`()
        async throws
    {
        let pool = try makePool()
        let log = Log()
        let first = try await makeSchedule(of: pool, log).backUp()
        log.advance(3000)
        let schedule = try makeSchedule(of: pool, log) { $0.every = .seconds(3001) }
        let running = Task { try await schedule.run() }
        defer { running.cancel() }
        try await Task.sleep(for: .milliseconds(200))
        try check(schedule.backups(), equals: [first])
        // It looks again after the second that was left.
        log.advance(1)
        try await log.wait { $0.made.withLock { !$0.isEmpty } }
        try check(schedule.backups().count, equals: 2)
    }

    @Test func `a copy that is not due is not made`() async throws {
        let pool = try makePool()
        let log = Log()
        try await makeSchedule(of: pool, log).backUp()
        log.advance(3500)
        let schedule = try makeSchedule(of: pool, log)
        let running = Task { try await schedule.run() }
        try await Task.sleep(for: .milliseconds(300))
        running.cancel()
        await #expect(throws: CancellationError.self) { try await running.value }
        try check(schedule.backups().count, equals: 1)
        log.advance(101)
        let later = Task { [schedule = try makeSchedule(of: pool, log)] in try await schedule.run()
        }
        try await log.wait { $0.made.withLock { $0.count } == 1 }
        later.cancel()
    }

    @Test(arguments: [365 * 86_400.0, -365 * 86_400.0])
    func `after a jump of the clock the next copy is made, and the good ones stay`(
        _ jump: Double
    ) async throws {
        let pool = try makePool()
        let log = Log()
        let schedule = try makeSchedule(of: pool, log) {
            ($0.keepsHourly, $0.keepsDaily, $0.keepsWeekly) = (3, 2, 2)
        }
        var made: [BackupSchedule.Backup] = []
        for _ in 0..<4 {
            made.append(try await schedule.backUp())
            log.advance(3600)
        }
        let before = try schedule.backups()
        check(before, equals: Array(made.reversed().prefix(3)))
        log.advance(jump)
        let running = Task { try await schedule.run() }
        defer { running.cancel() }
        try await log.wait { $0.made.withLock { !$0.isEmpty } }
        try await Task.sleep(for: .milliseconds(50))
        let left = try schedule.backups()
        check(Set(left).isSuperset(of: before.prefix(2)))
        try check(left.allSatisfy { try rowCount($0) == 20 })
    }

    @Test func `files of others stay, whatever they are called`() async throws {
        let pool = try makePool()
        let log = Log()
        let directory = folder.directory
        let others = [
            "notes.db", "notes-20200101T000000.000Z.db.old", "notes-2-20200101T000000.000Z.db",
            "other-20200101T000000.000Z.db", "notes-20200101T000000.000Z.txt", "notes-2020.db",
        ]
        for name in others {
            try Data("mine".utf8).write(to: directory.appendingPathComponent(name))
        }
        // A link and a directory, with names of copies.
        let link = "notes-20200101T000000.000Z.db", sub = "notes-20200102T000000.000Z.db"
        try FileManager.default.createSymbolicLink(
            at: directory.appendingPathComponent(link),
            withDestinationURL: directory.appendingPathComponent("notes.db"))
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent(sub), withIntermediateDirectories: false)
        let schedule = try makeSchedule(of: pool, log) {
            ($0.keepsHourly, $0.keepsDaily, $0.keepsWeekly) = (1, 0, 0)
        }
        for _ in 0..<5 {
            try await schedule.backUp()
            log.advance(3600)
        }
        try check(schedule.backups().count, equals: 1)
        let names = Set(try folder.fileNames())
        check(names.isSuperset(of: others + [link, sub]))
    }

    @Test func `a copy that is not verified has a name that says so, and the verified one stays`()
        async throws
    {
        let pool = try makePool()
        let log = Log()
        let verified = try await makeSchedule(of: pool, log).backUp()
        let schedule = try makeSchedule(of: pool, log) {
            $0.verifies = false
            ($0.keepsHourly, $0.keepsDaily, $0.keepsWeekly) = (2, 1, 1)
        }
        for _ in 0..<5 {
            log.advance(3600)
            let backup = try await schedule.backUp()
            check(backup.url.lastPathComponent.hasSuffix("Z-unverified.db"))
            check(!backup.isVerified)
            try check(rowCount(backup), equals: 20)
        }
        let left = try schedule.backups()
        check(left.map(\.isVerified), equals: [false, false, true])
        check(left.last, equals: verified)
    }

    @Test func `a damaged database is reported, and the copies of better days stay`() async throws {
        let pool = try makePool(rows: 200)
        let log = Log()
        let good = try await makeSchedule(of: pool, log).backUp()
        await pool.close()
        let file = try FileHandle(forUpdating: database.url)
        try file.seek(toOffset: 20 * 4096 + 100)
        try file.write(contentsOf: Data("damage".utf8))
        try file.close()
        try await pool.open(with: .raw(TemporaryDatabase.key))
        log.advance(30 * 86_400)
        let schedule = try makeSchedule(of: pool, log) {
            ($0.keepsHourly, $0.keepsDaily, $0.keepsWeekly) = (1, 0, 0)
        }
        let running = Task { try await schedule.run() }
        // Tried again after a second.
        try await log.wait { $0.failures.withLock { $0.count } >= 2 }
        running.cancel()
        check(
            log.failures.withLock {
                $0.allSatisfy { $0 is SecureStorageError }
            },
            "\(log.failures.withLock { $0 })")
        try check(schedule.backups(), equals: [good])
        try check(rowCount(good), equals: 200)
    }

    @Test func `a suspended pool is left alone until it is resumed`() async throws {
        let pool = try makePool()
        let log = Log()
        let schedule = try makeSchedule(of: pool, log)
        pool.suspend()
        let running = Task { try await schedule.run() }
        defer { running.cancel() }
        try await Task.sleep(for: .milliseconds(300))
        pool.resume()
        try await log.wait { $0.made.withLock { $0.count } == 1 }
        check(log.failures.withLock { $0.isEmpty })
    }

    @Test func `two schedules of one name and one folder make one copy when it is due`()
        async throws
    {
        let pool = try makePool()
        let log = Log()
        let running = try (0..<4).map { _ in
            Task { [schedule = try makeSchedule(of: pool, log)] in try await schedule.run() }
        }
        try await log.wait { $0.made.withLock { $0.count } >= 1 }
        // In this time, those that found the lock taken look again.
        try await Task.sleep(for: .milliseconds(1500))
        for task in running { task.cancel() }
        for task in running { _ = await task.result }
        check(log.made.withLock { $0.count }, equals: 1)
        check(log.failures.withLock { $0.isEmpty })
    }

    @Test
    func `the newest copy restores the database, with a header that keeps its salt elsewhere`()
        async throws
    {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher.plaintextHeaderSize = 32
        let pool = SecureDatabasePool(url: database.url, configuration: configuration)
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await pool.write { db in
            try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        }
        let log = Log()
        let schedule = try makeSchedule(of: pool, log)
        try await schedule.backUp()
        try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES (2)") }
        log.advance(60)
        try await schedule.backUp()
        await pool.close()
        try SecureDatabaseStore.remove(at: database.url)
        let newest = try require(schedule.backups().first)
        let copy = SecureDatabaseStore(url: newest.url, configuration: configuration)
        try copy.open(with: TemporaryDatabase.key)
        try copy.backup(to: database.url)
        copy.close()
        try await pool.open(with: .raw(TemporaryDatabase.key))
        try await check(pool.read { try $0.int(forQuery: "SELECT sum(x) FROM t") }, equals: 3)
        await pool.close()
    }

    @Test func `the settings are at first those that the documentation names`() {
        let settings = BackupSchedule.Settings()
        check(settings.every, equals: .seconds(3600))
        check(settings.keepsHourly, equals: 24)
        check(settings.keepsDaily, equals: 7)
        check(settings.keepsWeekly, equals: 4)
        check(settings.verifies)
    }

    @Test func `a salt is removed unless the copy that it belongs to got its name`() async throws {
        let pool = try makePool()
        let schedule = try makeSchedule(of: pool, Log())
        let remains = [
            "notes-20261124T151230.123Z.db", "notes-20261124T161230.123Z.db", "notes.db",
        ]
        for name in remains {
            let path = folder.directory.appendingPathComponent(name).path
            _ = FileManager.default.createFile(atPath: path + "-salt", contents: Data(count: 16))
        }
        let copy = folder.directory.appendingPathComponent(remains[0]).path
        _ = FileManager.default.createFile(atPath: copy, contents: Data(count: 4096))
        try await schedule.backUp()
        check(
            try folder.fileNames().filter { $0.hasSuffix("-salt") },
            equals: ["notes-20261124T151230.123Z.db-salt", "notes.db-salt"])
        await pool.close()
    }

    @Test func `names and settings that no schedule can follow are refused`() throws {
        let pool = try makePool()
        for change: (inout BackupSchedule.Settings) -> Void in [
            { $0.every = .zero }, { $0.every = .seconds(-1) }, { $0.keepsDaily = -1 },
        ] {
            check(
                storageError { _ = try makeSchedule(of: pool, Log(), change) }?.resultCode,
                equals: .misuse)
        }
        check(
            storageError {
                _ = try BackupSchedule(of: pool, in: folder.directory, name: "../x") { _ in }
            }?.resultCode, equals: .misuse)
    }

    // MARK: - Folders and disks

    @Test(.enabled(if: geteuid() != 0))
    func `a folder that cannot be written is reported, and used when it can`() async throws {
        try await reportsFolder { directory in
            chmod(directory.path, 0o500)
        } repair: { directory in
            chmod(directory.path, 0o700)
        }
    }

    @Test
    func `a file in the place of the folder is reported, and the folder used when it is there`()
        async throws
    {
        try await reportsFolder { directory in
            rmdir(directory.path)
            try Data("x".utf8).write(to: directory)
        } repair: { directory in
            unlink(directory.path)
        }
    }

    private func reportsFolder(
        _ spoil: (URL) throws -> Void, repair: (URL) -> Void
    ) async throws {
        let pool = try makePool()
        let log = Log()
        let directory = folder.directory.appendingPathComponent("backups")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        try spoil(directory)
        let schedule = try makeSchedule(of: pool, in: directory, log)
        let running = Task { try await schedule.run() }
        defer { running.cancel() }
        try await log.wait { $0.failures.withLock { $0.count } >= 2 }
        let failure = try require(log.failures.withLock { $0.first } as? SecureStorageError)
        check(failure.resultCode, equals: .cannotOpen)
        repair(directory)
        try await log.wait { $0.made.withLock { $0.count } == 1 }
    }

    #if os(Linux)
        @Test(.enabled(if: SmallDisk.isAvailable))
        func `a full disk is reported, and a copy made when there is room again`() async throws {
            try await makePool(rows: 400).close()
            let disk = try SmallDisk(kilobytes: 3000)
            // In a process of its own, since others would keep the room of removed files.
            await #expect(processExitsWith: .success) {
                [source = database.path as String, disk = disk.directory.path as String] in
                let pool = SecureDatabasePool(fullDatabasePath: source)
                try await pool.open(with: .raw(TemporaryDatabase.key))
                let ballast = Ballast(directory: disk)
                try ballast.fill(leaving: 500_000)
                let failures = Locked<[any Error]>([]), made = Locked(0)
                let schedule = try BackupSchedule(
                    of: pool, in: URL(fileURLWithPath: disk),
                    onSuccess: { _ in made.withLock { $0 += 1 } },
                    onFailure: { error in failures.withLock { $0.append(error) } })
                let running = Task { try await schedule.run() }
                while failures.withLock({ $0.count }) < 2 {
                    try await Task.sleep(for: .milliseconds(10))
                }
                check(
                    failures.withLock {
                        $0.allSatisfy { ($0 as? SecureStorageError)?.isDiskFull == true }
                    },
                    "\(failures.withLock { $0 })")
                try check(schedule.backups().isEmpty)
                try ballast.remove()
                while made.withLock({ $0 }) < 1 { try await Task.sleep(for: .milliseconds(10)) }
                running.cancel()
                try check(schedule.backups().count, equals: 1)
            }
            withExtendedLifetime(disk) {}
        }
    #endif

    // MARK: - Kills

    @Test(.enabled(if: !Sanitizer.isPresent))
    func `a kill leaves whole copies only, and the next one removes what else it has left`()
        async throws
    {
        try await makePool(rows: 300).close()
        var moment = SuddenDeath.Moment()
        var outcomes: [String: Int] = [:]
        for _ in 0..<SuddenDeath.count(6) {
            let before = Set(try folder.fileNames().filter { !$0.hasPrefix(".") })
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    source = database.path as String, target = folder.directory.path as String,
                    delay = moment.next() as Int
                ] in
                let pool = SecureDatabasePool(fullDatabasePath: source)
                try await pool.open(with: .raw(TemporaryDatabase.key))
                let schedule = try BackupSchedule(of: pool, in: URL(fileURLWithPath: target)) { _ in
                }
                SuddenDeath.after(microseconds: delay)
                try await schedule.backUp()
                _ = FileManager.default.createFile(atPath: target + ".done", contents: nil)
                while true { pause() }
            }
            let isDone = unlink(folder.directory.path + ".done") == 0
            moment.note(wasTooLate: isDone)
            let names = try folder.fileNames()
            let hasRemains = names.contains { $0.contains("unfinished") || $0.hasSuffix(".draft") }
            let isNew = names.contains { !$0.hasPrefix(".") && !before.contains($0) }
            outcomes[
                isDone ? "done" : isNew ? "named" : hasRemains ? "remains" : "none", default: 0] +=
                1

            let pool = try database.openPool()
            let schedule = try makeSchedule(of: pool, Log()) { $0.keepsHourly = 1000 }
            try check(schedule.backups().count, equals: names.filter { !$0.hasPrefix(".") }.count)
            for backup in try schedule.backups()
            where !before.contains(backup.url.lastPathComponent) {
                try check(rowCount(backup), equals: 300)
            }
            try await schedule.backUp()
            await pool.close()
            try check(
                folder.fileNames().filter { $0.hasPrefix(".") }, equals: [".notes-backups.lock"])
        }
        SuddenDeath.report("backup schedule: \(outcomes)")
    }
}
