import Foundation
import SecureStorage
import Testing
import TestSupport

/// The first `open` of a file creates all of it, including the handler's work, or nothing.
struct CreationTests {
    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    private struct HandlerError: Error, Equatable {
        let id: Int
    }

    // MARK: - The handler

    @Test func `the handler runs once, on the open that creates the file`() throws {
        let db = database.store()
        var calls: [Bool] = []
        for _ in 1...3 {
            try db.open(with: TemporaryDatabase.key) { store in
                calls.append(store === db && store.isOpen())
                return storageError { try store.executeUpdate("CREATE TABLE t (x)") }
            }
            try check(db.int("SELECT count(*) FROM t"), equals: 0)
            db.close()
        }
        check(calls, equals: [true])
        try database.store().open(with: TemporaryDatabase.key) { _ in HandlerError(id: 0) }
        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `the handler's work is in the file, and the store remains usable`() throws {
        for mode in SecureDatabaseConfiguration.JournalMode.allCases {
            let database = try TemporaryDatabase()
            let db = database.store { $0.journalMode = mode }
            try db.open(with: TemporaryDatabase.key) { store in
                storageError {
                    check(store.databaseURL, equals: database.url)
                    try store.executeStatements("CREATE TABLE t (x); PRAGMA user_version = 7")
                    try store.beginExclusiveTransaction()
                    try store.executeUpdate(
                        "INSERT INTO t VALUES (?)", values: [Data(count: 100_000)])
                    try store.commit()
                    // The result set is left open.
                    _ = try store.executeQuery("SELECT * FROM t").next()
                }
            }
            try check(db.strings("PRAGMA journal_mode"), equals: [mode.rawValue])
            try check(db.int("SELECT length(x) FROM t"), equals: 100_000)
            try db.executeUpdate("INSERT INTO t VALUES (1)")
            db.close()
            try db.open(with: TemporaryDatabase.key)
            try check(db.int("SELECT count(*) FROM t"), equals: 2)
            try check(db.int("PRAGMA user_version"), equals: 7)
        }
    }

    @Test func `open throws the handler's error and leaves no file`() throws {
        for id in 1...2 {
            let db = database.store()
            #expect(throws: HandlerError(id: id)) {
                try db.open(with: TemporaryDatabase.key) { store in
                    storageError { try store.executeUpdate("CREATE TABLE t (x)") }
                        ?? HandlerError(id: id)
                }
            }
            check(!db.isOpen())
            try check(database.fileNames(), equals: [])
        }
        // Another key works, since no file exists.
        let db = database.store()
        try db.open(with: "another key")
        try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 0)
    }

    @Test func `a file that another program has put there meanwhile is not replaced`() throws {
        let error = storageError {
            try database.store().open(with: TemporaryDatabase.key) { _ in
                _ = FileManager.default.createFile(
                    atPath: database.path, contents: Data("theirs".utf8))
                return nil
            }
        }
        check(error?.kind, equals: .openFailed)
        check("\(error, default: "none")".contains("File exists"))
        try check(Data(contentsOf: database.url), equals: Data("theirs".utf8))
        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test func `a handler that closes the store creates no file`() throws {
        let db = database.store()
        let error = storageError {
            try db.open(with: TemporaryDatabase.key) { store in
                store.close()
                return nil
            }
        }
        check(error?.kind, equals: .openFailed)
        check(error?.description.contains("handler closed the store"), equals: true)
        check(!db.isOpen())
        try check(database.fileNames(), equals: [])
    }

    @Test func `a handler that leaves a transaction open creates no file`() throws {
        let db = database.store()
        let error = storageError {
            try db.open(with: TemporaryDatabase.key) { store in
                storageError {
                    try store.beginDeferredTransaction()
                    try store.executeUpdate("CREATE TABLE t (x)")
                }
            }
        }
        check(error?.kind, equals: .openFailed)
        check(error?.description.contains("transaction"), equals: true)
        check(!db.isOpen())
        try check(database.fileNames(), equals: [])
    }

    @Test func `a handler may re-key, and the file gets the new key`() throws {
        let db = database.store()
        let new = Data(repeating: 7, count: 32)
        try db.open(with: TemporaryDatabase.key) { store in
            storageError {
                try store.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
                try store.changeEncryptionKey(with: new)
            }
        }
        try check(db.int("SELECT x FROM t"), equals: 1)
        db.close()
        check(
            storageError { try db.open(with: TemporaryDatabase.key) }?.kind,
            equals: .authenticationFailed)
        try db.open(with: new)
        try check(db.int("SELECT x FROM t"), equals: 1)
    }

    @Test func `a result set that the handler keeps is closed afterwards`() throws {
        let db = database.store()
        var kept: SecureDatabaseResultSet?
        try db.open(with: TemporaryDatabase.key) { store in
            storageError {
                try store.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2)")
                kept = try store.executeQuery("SELECT x FROM t")
                _ = try kept?.next()
            }
        }
        try check(db.int("SELECT count(*) FROM t"), equals: 2)
        check(!db.hasOpenResultSets)
        check(storageError { _ = try kept?.next() }, equals: .closed)
    }

    @Test func `a handler that opens the store again changes nothing`() throws {
        let db = database.store()
        var calls = 0
        try db.open(with: TemporaryDatabase.key) { store in
            calls += 1
            return storageError {
                try store.open(with: "another key")
                try store.executeUpdate("CREATE TABLE t (x)")
            }
        }
        check(calls, equals: 1)
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.int("SELECT count(*) FROM t"), equals: 0)
    }

    @Test func `a handler that closes and reopens the store gets an immediate error`() throws {
        let db = database.store { $0.busyTimeout = .seconds(3600) }
        var inner: SecureStorageError?
        let error = storageError {
            try db.open(with: TemporaryDatabase.key) { store in
                store.close()
                inner = storageError { try store.open(with: TemporaryDatabase.key) }
                return inner
            }
        }
        check(inner?.description.contains("cannot open it again"), equals: true)
        check(error, equals: inner)
        try check(database.fileNames(), equals: [])
        try db.open(with: TemporaryDatabase.key)
    }

    @Test func `a handler that opens the file with another store gets an error`() throws {
        let db = database.store { $0.busyTimeout = .milliseconds(50) }
        var error: SecureStorageError?
        try db.open(with: TemporaryDatabase.key) { _ in
            let other = database.store { $0.busyTimeout = .milliseconds(50) }
            error = storageError { try other.open(with: TemporaryDatabase.key) }
            return nil
        }
        check(error?.kind, equals: .openFailed)
        check(error?.code, equals: 5)
        try check(database.openStore().int("SELECT count(*) FROM sqlite_schema"), equals: 0)
    }

    // MARK: - Kills

    @Test func `a kill inside the handler leaves no file under the name`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = database.path as String] in
            let db = SecureDatabaseStore(fullDatabasePath: path)
            try db.open(with: TemporaryDatabase.key) { store in
                let error = storageError { try store.executeUpdate("CREATE TABLE half (x)") }
                if error == nil { SuddenDeath.now() }
                return error
            }
        }
        check(!FileManager.default.fileExists(atPath: database.path))

        let db = database.store()
        try db.open(with: "another key") { store in
            storageError { try store.executeUpdate("CREATE TABLE whole (x)") }
        }
        try check(db.strings("SELECT name FROM sqlite_schema"), equals: ["whole"])
    }

    @Test func `the next open removes what a killed one left`() async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = database.path as String] in
            try SecureDatabaseStore(fullDatabasePath: path).open(with: "key") { _ in
                SuddenDeath.now()
            }
        }
        try database.openStore().close()

        try check(database.fileNames(), equals: ["test.db"])
    }

    @Test(arguments: SecureDatabaseConfiguration.JournalMode.allCases)
    func `a kill at any time leaves no file or a complete one`(
        _ mode: SecureDatabaseConfiguration.JournalMode
    ) async throws {
        var left = 0
        var moment = SuddenDeath.Moment()
        for _ in 1...SuddenDeath.count(2) {
            let database = try TemporaryDatabase()
            await #expect(processExitsWith: .signal(SIGKILL)) {
                [
                    path = database.path as String, mode = mode.rawValue as String,
                    delay = moment.next() as Int
                ] in
                let mode = try require(SecureDatabaseConfiguration.JournalMode(rawValue: mode))
                SuddenDeath.after(microseconds: delay)
                try CreationTests.create(path, mode)
                while true { pause() }
            }
            let isThere = FileManager.default.fileExists(atPath: database.path)
            if isThere { left += 1 }
            moment.note(wasTooLate: isThere)
            let db = database.store { $0.journalMode = mode }
            var calls = 0
            try db.open(with: TemporaryDatabase.key) { store in
                calls += 1
                return storageError { try Self.makeSchema(store) }
            }
            check(calls, equals: (isThere ? 0 : 1))
            try check(db.int("SELECT count(*) FROM sqlite_schema"), equals: 20)
            try check(db.int("SELECT count(*) FROM t20"), equals: 50)
            try check(db.strings("PRAGMA integrity_check"), equals: ["ok"])
        }
        SuddenDeath.report("creation, \(mode.rawValue): \(left) kills left the whole file")
    }

    private static func create(
        _ path: String, _ mode: SecureDatabaseConfiguration.JournalMode
    ) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = mode
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        try db.open(with: TemporaryDatabase.key) { store in
            storageError { try makeSchema(store) }
        }
    }

    /// Creates twenty tables, each in its own transaction, and fifty rows in the last.
    private static func makeSchema(_ store: SecureDatabaseStore) throws {
        for number in 1...20 { try store.executeUpdate("CREATE TABLE t\(number) (x)") }
        for _ in 1...50 { try store.executeUpdate("INSERT INTO t20 VALUES (randomblob(100))") }
    }

    // MARK: - Concurrent creation

    @Test func `one of eight threads creates the file, and all open it`() throws {
        for _ in 1...20 {
            let database = try TemporaryDatabase()
            let gate = Gate(count: 8)
            let (calls, errors) = (Shared(0), Shared<[String]>([]))
            let threads = DispatchGroup()
            for number in 1...8 {
                threads.enter()
                Thread.detachNewThread {
                    defer { threads.leave() }
                    let db = database.store()
                    gate.pass()
                    do {
                        try db.open(with: TemporaryDatabase.key) { store in
                            calls.withLock { $0 += 1 }
                            return storageError { try store.executeUpdate("CREATE TABLE t (x)") }
                        }
                        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
                    } catch { errors.withLock { $0.append("\(error)") } }
                }
            }
            threads.wait()

            check(errors.current, equals: [])
            check(calls.current, equals: 1)
            try check(database.openStore().int("SELECT count(DISTINCT x) FROM t"), equals: 8)
            try check(database.fileNames(), equals: ["test.db"])
        }
    }

    @Test func `threads that arrive at different times find no half-created file`() throws {
        for _ in 1...20 {
            let database = try TemporaryDatabase()
            let errors = Shared<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { number in
                let db = database.store()
                // Not a wait for anything: spreads the threads over every stage of another's work.
                usleep(UInt32.random(in: 0...6000))
                do {
                    try db.open(with: TemporaryDatabase.key) { store in
                        storageError { try store.executeUpdate("CREATE TABLE t (x)") }
                    }
                    try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
                } catch { errors.withLock { $0.append("\(error)") } }
            }
            check(errors.current, equals: [])
        }
    }

    @Test func `one of two processes creates the file, and both open it`() async throws {
        for _ in 1...10 {
            let database = try TemporaryDatabase()
            let side = try TemporaryDatabase()
            async let first: Void = Self.createInProcess("1", database, side)
            async let second: Void = Self.createInProcess("2", database, side)
            _ = await (first, second)

            let calls = try String(contentsOf: side.url, encoding: .utf8)
            check(calls == "1\n" || calls == "2\n")
            try check(database.openStore().int("SELECT count(DISTINCT x) FROM t"), equals: 2)
            try check(database.fileNames(), equals: ["test.db"])
        }
    }

    private static func createInProcess(
        _ name: String, _ database: TemporaryDatabase, _ side: TemporaryDatabase
    ) async {
        await #expect(processExitsWith: .success) {
            [name = name as String, path = database.path as String, log = side.path as String] in
            let db = SecureDatabaseStore(fullDatabasePath: path)
            let meeting = log.replacingOccurrences(of: "/test.db", with: "")
            Rendezvous.meet(in: meeting, as: name, count: 2)
            try db.open(with: TemporaryDatabase.key) { store in
                let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
                write(descriptor, name + "\n", 2)
                close(descriptor)
                return storageError { try store.executeUpdate("CREATE TABLE t (x)") }
            }
            try db.executeUpdate("INSERT INTO t VALUES (?)", values: [name])
        }
    }

    @Test func `a key other than the creator's is refused, during creation and later`() throws {
        for _ in 1...10 {
            let database = try TemporaryDatabase()
            let gate = Gate(count: 2)
            let outcomes = Shared<[SecureStorageError.Kind?]>([])
            DispatchQueue.concurrentPerform(iterations: 2) { number in
                let db = database.store()
                let key = Data(repeating: UInt8(number), count: 32)
                gate.pass()
                let error = storageError { try db.open(with: key) }
                outcomes.withLock { $0.append(error?.kind) }
            }
            check(
                Set(outcomes.current), equals: [nil, .authenticationFailed], "\(outcomes.current)")
        }
    }

    // MARK: - The default directory

    #if os(Linux)
        @Test func `a bare file name is a file below XDG_DATA_HOME`() async {
            await #expect(processExitsWith: .success) {
                [home = database.directory.path as String] in
                setenv("XDG_DATA_HOME", home + "/data/home", 1)
                umask(0)
                let db = SecureDatabaseStore(databaseFileName: "named.db")
                let program = ProcessInfo.processInfo.processName
                let directory = home + "/data/home/" + program
                check(db.databaseURL.path, equals: directory + "/named.db")
                check(!FileManager.default.fileExists(atPath: home + "/data"))

                try db.open(with: TemporaryDatabase.key)

                var status = stat()
                check(lstat(directory, &status), equals: 0)
                check(status.st_mode & 0o7777, equals: 0o700)
                check(lstat(db.databaseURL.path, &status), equals: 0)
                check(status.st_mode & 0o7777, equals: 0o600)
                // The specification requires 0700 for XDG_DATA_HOME itself, too.
                check(lstat(home + "/data/home", &status), equals: 0)
                check(status.st_mode & 0o7777, equals: 0o700)
            }
        }

        @Test func `a file name cannot lead out of the default directory`() async {
            await #expect(processExitsWith: .success) {
                [home = database.directory.path as String] in
                setenv("XDG_DATA_HOME", home + "/data", 1)
                for name in ["", ".", "..", "../out.db", "sub/in.db", "/etc/absolute.db"] {
                    let db = SecureDatabaseStore(databaseFileName: name)
                    let error = storageError { try db.open(with: TemporaryDatabase.key) }
                    check(
                        error?.description.contains("is not a file name"), equals: true, "\(name)")
                }
                check(!FileManager.default.fileExists(atPath: home + "/data"))
            }
        }

        @Test func `a relative XDG_DATA_HOME is ignored`() async {
            await #expect(processExitsWith: .success) {
                [home = database.directory.path as String] in
                setenv("HOME", home, 1)
                for value in [nil, "", "relative/data"] {
                    if let value { setenv("XDG_DATA_HOME", value, 1) }
                    if value == nil { unsetenv("XDG_DATA_HOME") }
                    let db = SecureDatabaseStore(databaseFileName: "named.db")
                    let program = ProcessInfo.processInfo.processName
                    // `#require`, because a test must not write to the real directory.
                    try require(
                        db.databaseURL.path == "\(home)/.local/share/\(program)/named.db")
                    try db.open(with: TemporaryDatabase.key)
                    let shared = try SharedDatabase.directory(named: "org.example.notes")
                    check(shared.path, equals: "\(home)/.local/share/org.example.notes")
                }
            }
        }
    #endif
}
