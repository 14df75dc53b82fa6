import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

#if os(Linux)
    /// Files and directories of another user, accessed without root's rights.
    @Suite(.enabled(if: getuid() == 0, "needs root, to be another user in a child process"))
    struct OtherUserTests {
        typealias JournalMode = SecureDatabaseConfiguration.JournalMode

        let database: TemporaryDatabase

        init() throws {
            database = try TemporaryDatabase()
        }

        /// Makes a closed file with three rows.
        private func makeFile(_ mode: JournalMode, permissions: mode_t) throws {
            let db = try database.openStore { $0.journalMode = mode }
            try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1), (2), (3)")
            db.close()
            try require(chmod(database.path, permissions) == 0)
        }

        private static func becomeNobody() {
            setgroups(0, nil)
            setgid(65534)
            setuid(65534)
            precondition(getuid() == 65534 && geteuid() == 65534)
        }

        /// Opens the file as another user, and expects `expected` (`opened`, or the error's kind)
        /// and an unchanged directory.
        private func expectAsNobody(
            _ expected: String, mode: JournalMode, isReadOnly: Bool,
            sourceLocation: SourceLocation = #_sourceLocation
        ) async throws {
            let before = try DirectorySnapshot(of: database.directory)
            await #expect(processExitsWith: .success, sourceLocation: sourceLocation) {
                [
                    path = database.path as String, expected = expected as String,
                    mode = mode.rawValue as String, isReadOnly = isReadOnly as Bool
                ] in
                OtherUserTests.becomeNobody()
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(.init(rawValue: mode))
                configuration.isReadOnly = isReadOnly
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                let error = storageError { try db.open(with: TemporaryDatabase.key) }
                check(
                    error?.kind.rawValue ?? "opened", equals: expected,
                    "\(mode), read-only: \(isReadOnly), \(error?.description ?? "no error")")
                if error == nil {
                    try check(db.int("SELECT count(*) FROM t"), equals: 3)
                    check(
                        storageError { try db.executeUpdate("INSERT INTO t VALUES (4)") }?.code,
                        equals: 8)
                }
                db.close()
            }
            let after = try DirectorySnapshot(of: database.directory)
            check(after, equals: before, sourceLocation: sourceLocation)
        }

        @Test(arguments: JournalMode.allCases, [true, false])
        func `an unreadable file cannot be opened`(
            _ mode: JournalMode, _ isReadOnly: Bool
        ) async throws {
            try makeFile(mode, permissions: 0o600)
            try await expectAsNobody("openFailed", mode: mode, isReadOnly: isReadOnly)
        }

        @Test(arguments: JournalMode.allCases, [true, false])
        func `a file in an unsearchable directory cannot be opened`(
            _ mode: JournalMode, _ isReadOnly: Bool
        ) async throws {
            try makeFile(mode, permissions: 0o666)
            try require(chmod(database.directory.path, 0o700) == 0)
            try await expectAsNobody("openFailed", mode: mode, isReadOnly: isReadOnly)
        }

        @Test(arguments: JournalMode.allCases)
        func `no file is created in an unwritable directory`(_ mode: JournalMode) async throws {
            try await expectAsNobody("openFailed", mode: mode, isReadOnly: false)
        }

        @Test(arguments: JournalMode.allCases, [0o755, 0o777] as [mode_t])
        func `a file that may only be read opens read-only and leaves nothing`(
            _ mode: JournalMode, _ directory: mode_t
        ) async throws {
            try makeFile(mode, permissions: 0o644)
            try require(chmod(database.directory.path, directory) == 0)
            try await expectAsNobody("opened", mode: mode, isReadOnly: true)
        }

        @Test(arguments: JournalMode.allCases, [0o755, 0o777] as [mode_t])
        func `a store that writes refuses a file that may only be read`(
            _ mode: JournalMode, _ directory: mode_t
        ) async throws {
            try makeFile(mode, permissions: 0o644)
            try require(chmod(database.directory.path, directory) == 0)
            try await expectAsNobody("openFailed", mode: mode, isReadOnly: false)
        }

        @Test(arguments: JournalMode.allCases)
        func `a store that writes refuses a file whose journal it cannot create`(
            _ mode: JournalMode
        ) async throws {
            try makeFile(mode, permissions: 0o666)
            try await expectAsNobody("openFailed", mode: mode, isReadOnly: false)
        }

        @Test(arguments: [0o755, 0o777] as [mode_t])
        func `a reader sees what is only in a writer's log`(_ directory: mode_t) async throws {
            try makeFile(.wal, permissions: 0o644)
            try require(chmod(database.directory.path, directory) == 0)
            let db = try database.openStore()
            try db.executeUpdate("INSERT INTO t VALUES (4)")

            await #expect(processExitsWith: .success) { [path = database.path as String] in
                OtherUserTests.becomeNobody()
                var configuration = SecureDatabaseConfiguration()
                configuration.isReadOnly = true
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                try check(db.int("SELECT count(*) FROM t"), equals: 4)
                db.close()
            }
            try db.executeUpdate("INSERT INTO t VALUES (5)")
            try check(db.int("SELECT count(*) FROM t"), equals: 5)
        }

        @Test(arguments: JournalMode.allCases, [0o755, 0o777] as [mode_t])
        func `a reader sees what is committed while it is open, or gets an error`(
            _ mode: JournalMode, _ directory: mode_t
        ) async throws {
            try makeFile(mode, permissions: 0o644)
            try require(chmod(database.directory.path, directory) == 0)
            let (readerIsOpen, writerIsDone) = (try TemporaryDatabase(), try TemporaryDatabase())
            for place in [readerIsOpen, writerIsDone] {
                try require(chmod(place.directory.path, 0o777) == 0)
            }

            async let reader: Void = Self.readTwice(database, readerIsOpen, writerIsDone)
            async let writer: Void = Self.writeOnce(database, mode, readerIsOpen, writerIsDone)
            _ = await (reader, writer)
        }

        private static func readTwice(
            _ database: TemporaryDatabase, _ readerIsOpen: TemporaryDatabase,
            _ writerIsDone: TemporaryDatabase
        ) async {
            await #expect(processExitsWith: .success) {
                [
                    path = database.path as String,
                    readerIsOpen = readerIsOpen.directory.path as String,
                    writerIsDone = writerIsDone.directory.path as String
                ] in
                OtherUserTests.becomeNobody()
                var configuration = SecureDatabaseConfiguration()
                configuration.isReadOnly = true
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                try db.open(with: TemporaryDatabase.key)
                try check(db.int("SELECT count(*) FROM t"), equals: 3)
                Rendezvous.meet(in: readerIsOpen, as: "reader", count: 2)
                Rendezvous.meet(in: writerIsDone, as: "reader", count: 2)
                var count: Int?
                let error = storageError { count = try db.int("SELECT count(*) FROM t") }
                check(error != nil || count == 4, "\(count ?? -1) rows")
                check(error == nil || error?.kind == .backingStoreError)
                // Reopened, it sees the current file.
                db.close()
                try db.open(with: TemporaryDatabase.key)
                try check(db.int("SELECT count(*) FROM t"), equals: 4)
            }
        }

        private static func writeOnce(
            _ database: TemporaryDatabase, _ mode: JournalMode, _ readerIsOpen: TemporaryDatabase,
            _ writerIsDone: TemporaryDatabase
        ) async {
            await #expect(processExitsWith: .success) {
                [
                    path = database.path as String, mode = mode.rawValue as String,
                    readerIsOpen = readerIsOpen.directory.path as String,
                    writerIsDone = writerIsDone.directory.path as String
                ] in
                var configuration = SecureDatabaseConfiguration()
                configuration.journalMode = try require(.init(rawValue: mode))
                let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
                Rendezvous.meet(in: readerIsOpen, as: "writer", count: 2)
                try db.open(with: TemporaryDatabase.key)
                try db.executeUpdate("INSERT INTO t VALUES (4)")
                db.close()
                Rendezvous.meet(in: writerIsDone, as: "writer", count: 2)
            }
        }

        @Test(arguments: [0o755, 0o777] as [mode_t])
        func `after a crash a reader sees every commit, or gets an error`(
            _ directory: mode_t
        ) async throws {
            try makeFile(.wal, permissions: 0o644)
            try require(chmod(database.directory.path, directory) == 0)
            for keepsIndex in [true, false] {
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = database.path as String] in
                    let db = SecureDatabaseStore(fullDatabasePath: path)
                    try db.open(with: TemporaryDatabase.key)
                    try db.executeUpdate("INSERT INTO t VALUES (4)")
                    SuddenDeath.now()
                }
                if !keepsIndex {
                    try FileManager.default.removeItem(atPath: database.path + "-shm")
                }
                let expected = keepsIndex ? 4 : 5

                await #expect(processExitsWith: .success) {
                    [path = database.path as String, expected = expected as Int] in
                    OtherUserTests.becomeNobody()
                    var configuration = SecureDatabaseConfiguration()
                    configuration.isReadOnly = true
                    let db = SecureDatabaseStore(
                        fullDatabasePath: path, configuration: configuration)
                    if let error = storageError({ try db.open(with: TemporaryDatabase.key) }) {
                        check(error.kind, equals: .openFailed)
                    } else {
                        let count = try db.int("SELECT count(*) FROM t")
                        check(count, equals: expected)
                    }
                }
            }
            try check(database.openStore().int("SELECT count(*) FROM t"), equals: 5)
        }

        // MARK: - Creations begun by another user

        /// Leaves the remains of a killed creation in a directory with the mode `directory`, and
        /// returns the file names.
        private func makeRemains(_ directory: mode_t, keepsLock: Bool) async throws -> [String] {
            await #expect(processExitsWith: .signal(SIGKILL)) { [path = database.path as String] in
                let db = SecureDatabaseStore(fullDatabasePath: path)
                try db.open(with: TemporaryDatabase.key) { _ in SuddenDeath.now() }
            }
            let names = try database.fileNames()
            let lock = try require(names.first { $0.hasSuffix(".lock") })
            check(names.contains { $0.hasSuffix(".draft") })
            if !keepsLock {
                try FileManager.default.removeItem(
                    at: database.directory.appendingPathComponent(lock))
            }
            try require(chmod(database.directory.path, directory) == 0)
            return try database.fileNames()
        }

        /// Calls `remove(at:)` as another user and checks its result or its error.
        private func removeAsNobody(
            mentioning words: [String] = [], code: Int? = nil, _ removes: Bool? = nil
        ) async {
            await #expect(processExitsWith: .success) {
                [
                    url = database.url as URL, words = words as [String], code = code as Int?,
                    removes = removes as Bool?
                ] in
                OtherUserTests.becomeNobody()
                var removed: Bool?
                let error = storageError { removed = try SecureDatabaseStore.remove(at: url) }
                check(removed, equals: removes, "\(error as Any)")
                check(error?.code, equals: code, "\(error as Any)")
                for word in words {
                    check(error?.description.contains(word), equals: true, "\(error as Any)")
                }
            }
        }

        @Test
        func
            `another user's creation, killed or not, is not removed, and the error says why`()
            async throws
        {
            let names = try await makeRemains(0o777, keepsLock: true)
            let lock = try require(names.first { $0.hasSuffix(".lock") })
            await removeAsNobody(mentioning: [lock, "another user", "cannot remove"], code: 14)
            try check(database.fileNames(), equals: names)
            // The owner may remove it, since no process is creating it now.
            try check(SecureDatabaseStore.remove(at: database.url))
            try check(database.fileNames(), equals: [])
        }

        @Test func `a temporary file that another user may not remove is an error, not a removal`()
            async throws
        {
            let names = try await makeRemains(0o1777, keepsLock: false)
            let draft = try require(names.first { $0.hasSuffix(".draft") })
            await removeAsNobody(mentioning: [draft, "cannot remove"], code: 14)
            try check(database.fileNames(), equals: names)
        }

        @Test func `a temporary file that another user may remove is removed`() async throws {
            _ = try await makeRemains(0o777, keepsLock: false)
            await removeAsNobody(true)
            try check(database.fileNames(), equals: [])
            await removeAsNobody(false)
        }
    }
#endif
