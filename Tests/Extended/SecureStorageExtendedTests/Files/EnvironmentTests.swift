import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Full disks, exhausted file descriptors and other processes.
struct EnvironmentTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    // MARK: - The disk is full

    #if os(Linux)
        private static func store(_ directory: String, _ mode: String) -> SecureDatabaseStore {
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = JournalMode(rawValue: mode) ?? .wal
            return SecureDatabaseStore(
                fullDatabasePath: directory + "/test.db", configuration: configuration)
        }

        @Test(
            .enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"),
            arguments: JournalMode.allCases)
        func `inserts on a full disk fail with code 13, and stored rows remain`(
            _ mode: JournalMode
        ) async throws {
            for number in 0..<environmentNumber("SECURESTORAGE_DISKS", default: 6) {
                let disk = try SmallDisk(kilobytes: 512)
                await #expect(processExitsWith: .success) {
                    [
                        disk = disk.directory.path as String, mode = mode.rawValue as String,
                        number = number as Int
                    ] in
                    let db = EnvironmentTests.store(disk, mode)
                    try db.open(with: TemporaryDatabase.key)
                    try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
                    let ballast = Ballast(directory: disk)
                    try ballast.fill(leaving: (100 + number % 50 * 4) * 1024)

                    var stored = 0
                    let error = storageError {
                        for _ in 1...1000 {
                            try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(1500))")
                            stored += 1
                        }
                    }

                    check(error?.kind, equals: .backingStoreError)
                    check(error?.code, equals: 13, "\(error?.description ?? "no error")")
                    check(error?.description.contains("disk is full"), equals: true)
                    check(stored > 0)
                    try check(!db.isInTransaction())
                    let count = "SELECT count(*) FROM t WHERE length(x) = 1500"
                    try check(db.int(count), equals: stored)

                    try ballast.remove()
                    try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(1500))")
                    db.close()
                    try db.open(with: TemporaryDatabase.key)
                    try check(db.int(count), equals: stored + 1)
                    try check(db.strings("PRAGMA integrity_check"), equals: ["ok"])
                    try check(db.strings("PRAGMA cipher_integrity_check"), equals: [])
                }
            }
        }

        @Test(
            .enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"),
            arguments: JournalMode.allCases)
        func `stored rows are still there when the disk remains full at the next open`(
            _ mode: JournalMode
        ) async throws {
            let disk = try SmallDisk(kilobytes: 512)
            await #expect(processExitsWith: .success) {
                [disk = disk.directory.path as String, mode = mode.rawValue as String] in
                let db = EnvironmentTests.store(disk, mode)
                try db.open(with: TemporaryDatabase.key)
                try db.executeUpdate("CREATE TABLE t (id INTEGER PRIMARY KEY, x)")
                var stored = 0
                let full = storageError {
                    while true {
                        try db.executeUpdate("INSERT INTO t (x) VALUES (randomblob(1500))")
                        stored += 1
                    }
                }
                check(full?.code, equals: 13)
                db.close()
                let ballast = Ballast(directory: disk)
                try ballast.fill()

                // In WAL mode the sidecar files may not fit; then `open` reports that.
                if let error = storageError({ try db.open(with: TemporaryDatabase.key) }) {
                    check(error.kind, equals: .openFailed)
                    try ballast.remove()
                    try db.open(with: TemporaryDatabase.key)
                }
                try check(db.int("SELECT count(*) FROM t WHERE length(x) = 1500"), equals: stored)
            }
        }

        @Test(
            .enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"),
            arguments: JournalMode.allCases)
        func `a transaction on a full disk is rolled back, and the queue remains usable`(
            _ mode: JournalMode
        ) async throws {
            let disk = try SmallDisk(kilobytes: 512)
            await #expect(processExitsWith: .success) {
                [disk = disk.directory.path as String, mode = mode.rawValue as String] in
                let db = EnvironmentTests.store(disk, mode)
                try db.open(with: TemporaryDatabase.key)
                try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('before')")
                let queue = SecureDatabaseQueue(databaseStore: db)
                let ballast = Ballast(directory: disk)
                try ballast.fill(leaving: 100 * 1024)

                let error = storageError {
                    try queue.inExclusiveTransaction { db in
                        for _ in 1...100 {
                            try db.executeUpdate("INSERT INTO t VALUES (randomblob(10000))")
                        }
                        return false
                    }
                }

                check(error?.code, equals: 13)
                try check(queue.inDatabase { try $0.isInTransaction() }, equals: false)
                try check(
                    queue.inDatabase { try $0.strings("SELECT x FROM t") }, equals: ["before"])
                try ballast.remove()
                try queue.inExclusiveTransaction { db in
                    try db.executeUpdate("INSERT INTO t VALUES ('after')")
                    return false
                }
                try check(
                    queue.inDatabase { try $0.strings("SELECT x FROM t") },
                    equals: ["before", "after"])
            }
        }

        @Test(
            .enabled(if: SmallDisk.isAvailable, "needs a right to mount a tmpfs"),
            arguments: JournalMode.allCases)
        func `a file that does not fit is not created`(_ mode: JournalMode) async throws {
            for spare in [0, 4, 8, 12, 16, 24, 32, 48, 64, 100] {
                let disk = try SmallDisk(kilobytes: 256)
                await #expect(processExitsWith: .success, "\(spare) KB left") {
                    [
                        disk = disk.directory.path as String, mode = mode.rawValue as String,
                        spare = spare as Int
                    ] in
                    let ballast = Ballast(directory: disk)
                    try ballast.fill(leaving: spare * 1024)
                    let db = EnvironmentTests.store(disk, mode)

                    let error = storageError {
                        try db.open(with: TemporaryDatabase.key) { store in
                            storageError {
                                try store.executeStatements(
                                    "CREATE TABLE t (x); INSERT INTO t VALUES (zeroblob(100000))")
                            }
                        }
                    }

                    check(error != nil)
                    check(!db.isOpen())
                    try check(
                        FileManager.default.contentsOfDirectory(atPath: disk), equals: ["ballast"])
                    // Above, `open` throws the handler's error; without a handler it throws its
                    // own.
                    if let plain = storageError({ try db.open(with: TemporaryDatabase.key) }) {
                        check(plain.kind, equals: .openFailed, "\(plain)")
                    }
                    db.close()
                    try? FileManager.default.removeItem(atPath: disk + "/test.db")
                    try ballast.remove()
                    try db.open(with: TemporaryDatabase.key)
                }
            }
        }
    #endif

    // MARK: - No file descriptors

    @Test(arguments: JournalMode.allCases)
    func `open fails without free descriptors, and works once some are free again`(
        _ mode: JournalMode
    ) async {
        await #expect(processExitsWith: .success) {
            [path = database.path as String, mode = mode.rawValue as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = try require(.init(rawValue: mode))
            let directory = path.replacingOccurrences(of: "/test.db", with: "")
            // Opens whatever a process opens only once.
            let first = SecureDatabaseStore(
                fullDatabasePath: directory + "/first.db", configuration: configuration)
            try first.open(with: TemporaryDatabase.key)
            try first.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
            first.close()
            var failures = 0
            for free in 0...10 {
                for name in ["first.db", "new\(free).db"] {
                    let db = SecureDatabaseStore(
                        fullDatabasePath: directory + "/" + name, configuration: configuration)
                    let error = Descriptors.withOnly(free) {
                        storageError {
                            try db.open(with: TemporaryDatabase.key)
                            try db.executeUpdate("CREATE TABLE IF NOT EXISTS u (x)")
                        }
                    }
                    if let error {
                        failures += 1
                        if !db.isOpen() {
                            check(error.kind, equals: .openFailed, "\(free): \(error)")
                        }
                        check(error.code == 14 || error.code == 10, "\(free): \(error)")
                    }
                    db.close()
                    try db.open(with: TemporaryDatabase.key)
                    if name == "first.db" {
                        try check(db.strings("SELECT x FROM t"), equals: ["row"])
                    }
                    db.close()
                    check(Descriptors.count(below: directory), equals: 0, "\(free)")
                }
            }
            check(failures >= 4 && failures <= 16, "\(failures)")
            let names = try FileManager.default.contentsOfDirectory(atPath: directory)
            check(names.count, equals: 12, "\(names)")
        }
    }

    @Test func `an open store needs no new descriptors in WAL mode`() async {
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key)
            try db.executeUpdate("CREATE TABLE t (x)")
            try Descriptors.withOnly(0) {
                for _ in 1...100 {
                    try db.executeUpdate("INSERT INTO t VALUES (randomblob(50000))")
                }
                try check(db.int("SELECT count(*) FROM t"), equals: 100)
            }
        }
    }

    @Test func `opening and closing a hundred times leaves no descriptor open`() async {
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key)
            try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
            db.close()
            for round in 1...100 {
                let db = SecureDatabaseStore(fullDatabasePath: path)
                check(storageError { try db.open(with: Data(count: 32)) } != nil)
                try db.open(with: TemporaryDatabase.key)
                let rs = try db.executeQuery("SELECT x FROM t")
                try check(rs.next())
                if round.isMultiple(of: 2) { try db.beginExclusiveTransaction() }
                if round.isMultiple(of: 3) { db.close() }
                if round.isMultiple(of: 20) {
                    let new = SecureDatabaseStore(fullDatabasePath: path + "\(round)")
                    struct Refused: Error {}
                    #expect(throws: Refused.self) {
                        try new.open(with: TemporaryDatabase.key) { _ in Refused() }
                    }
                }
            }
            let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
            check(Descriptors.count(below: directory), equals: 0)
        }
    }

    // MARK: - Other processes

    @Test(arguments: JournalMode.allCases)
    func `four processes with 60 increments each count to 240`(_ mode: JournalMode) async throws {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeStatements("CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (0)")
        db.close()
        let meeting = try TemporaryDatabase()

        await withTaskGroup { group in
            for number in 1...4 {
                group.addTask {
                    await Self.incrementInProcess(number, database, meeting, mode)
                }
            }
        }

        try check(database.openStore { $0.journalMode = mode }.int("SELECT n FROM t"), equals: 240)
    }

    private static func incrementInProcess(
        _ number: Int, _ database: TemporaryDatabase, _ meeting: TemporaryDatabase,
        _ mode: JournalMode
    ) async {
        await #expect(processExitsWith: .success) {
            [
                name = "\(number)" as String, path = database.path as String,
                meeting = meeting.directory.path as String, mode = mode.rawValue as String
            ] in
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = try require(.init(rawValue: mode))
            // Waiting writers are not served in order; a slow disk must not make one time out.
            configuration.busyTimeout = .seconds(60)
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
            Rendezvous.meet(in: meeting, as: name, count: 4)
            try db.open(with: TemporaryDatabase.key)
            let queue = SecureDatabaseQueue(databaseStore: db)
            for _ in 1...60 {
                try queue.inExclusiveTransaction { db in
                    let n = try require(db.int("SELECT n FROM t"))
                    try db.executeUpdate("UPDATE t SET n = ?", values: [n + 1])
                    return false
                }
            }
        }
    }

    @Test(arguments: JournalMode.allCases)
    func `a busy file is code 5 once the timeout has expired, not before`(_ mode: JournalMode)
        async throws
    {
        let db = try database.openStore { $0.journalMode = mode }
        try db.executeUpdate("CREATE TABLE t (x)")
        try db.beginExclusiveTransaction()
        try db.executeUpdate("INSERT INTO t VALUES (1)")

        await #expect(processExitsWith: .success) {
            [path = database.path as String, mode = mode.rawValue as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = try require(.init(rawValue: mode))
            configuration.busyTimeout = .milliseconds(300)
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
            let start = ContinuousClock.now
            let error = storageError {
                try db.open(with: TemporaryDatabase.key)
                try db.executeUpdate("INSERT INTO t VALUES (2)")
            }
            let waited = ContinuousClock.now - start
            check(error?.code, equals: 5)
            check(error?.kind, equals: (mode == "wal" ? .backingStoreError : .openFailed))
            check(waited >= .milliseconds(250), "\(waited)")
        }
        try db.commit()
        try check(db.int("SELECT count(*) FROM t"), equals: 1)
    }
}
