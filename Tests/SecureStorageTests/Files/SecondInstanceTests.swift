import Foundation
import Logging
import SecureStorage
import Testing
import TestSupport

struct SecondInstanceTests {
    private let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        // The warning about the engine goes to the first logger of the process.
        _ = try TemporaryDatabase().openStore()
    }

    private func store(
        _ policy: SecureDatabaseConfiguration.SecondInstance, _ log: LogRecorder = LogRecorder()
    ) -> SecureDatabaseStore {
        database.store {
            $0.secondInstance = policy
            $0.logger = Logger(label: "test") { _ in log }
        }
    }

    @Test func `a second store on an open file is reported by default`() throws {
        check(SecureDatabaseConfiguration().secondInstance, equals: .reported)
        let (first, second) = (LogRecorder(), LogRecorder())
        let one = store(.reported, first)
        try one.open(with: TemporaryDatabase.key)
        let other = store(.reported, second)
        try other.open(with: TemporaryDatabase.key)
        check(first.warnings.isEmpty)
        check(second.warnings.count, equals: 1)
        check(second.warnings.first?.contains(database.path), equals: true)
        try check(other.int("SELECT 1"), equals: 1)
    }

    @Test func `a second pool is refused if configured so`() throws {
        let one = store(.refused)
        try one.open(with: TemporaryDatabase.key)
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .refused
        let pool = SecureDatabasePool(
            fullDatabasePath: database.directory.path + "/../"
                + database.directory.lastPathComponent + "/test.db", configuration: configuration)
        let error = storageError { try pool.open(with: .raw(TemporaryDatabase.key)) }
        check(error?.code, equals: 21)
        check("\(error as Any)".contains("already"))
        check(!pool.isOpen())
        one.close()
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { try $0.int("SELECT 1") }, equals: 1)
        check(storageError { try one.open(with: TemporaryDatabase.key) }?.code, equals: 21)
    }

    @Test func `a store that was closed, released or could not be opened is not an instance`()
        throws
    {
        do {
            let released = store(.refused)
            try released.open(with: TemporaryDatabase.key)
        }
        let wrong = store(.refused)
        check(storageError { try wrong.open(with: Data(count: 32)) } != nil)
        let closed = store(.refused)
        try closed.open(with: TemporaryDatabase.key)
        try closed.open(with: TemporaryDatabase.key)
        closed.close()
        try store(.refused).open(with: TemporaryDatabase.key)
    }

    @Test func `a re-keyed store is still an instance`() throws {
        let one = store(.refused)
        try one.open(with: TemporaryDatabase.key)
        let new = Data(repeating: 7, count: 32)
        try one.changeEncryptionKey(with: new)
        check(storageError { try store(.refused).open(with: new) }?.code, equals: 21)
    }

    @Test func `readers and several queues of one store are not second instances`() throws {
        let log = LogRecorder()
        let one = store(.refused, log)
        try one.open(with: TemporaryDatabase.key)
        let reader = database.store {
            $0.secondInstance = .refused
            $0.isReadOnly = true
        }
        try reader.open(with: TemporaryDatabase.key)
        for _ in 0..<2 {
            let queue = SecureDatabaseQueue(databaseStore: one)
            try check(queue.inDatabase { try $0.int("SELECT 1") }, equals: 1)
        }
        reader.close()
        one.close()
        let pool = SecureDatabasePool(
            url: database.url, configuration: one.configuration)
        try pool.open(with: .raw(TemporaryDatabase.key))
        try check(pool.read { try $0.int("SELECT 1") }, equals: 1)
        check(log.warnings.isEmpty)
    }

    @Test func `only one of many threads opens a file that may be open once`() throws {
        try store(.allowed).open(with: TemporaryDatabase.key)
        let opened = Shared(0)
        let gate = Gate(count: 8)
        onThreads(8) { _ in
            let mine = store(.refused)
            let isOpen = (try? mine.open(with: TemporaryDatabase.key)) != nil
            if isOpen { opened.withLock { $0 += 1 } }
            gate.pass()
            mine.close()
        }
        check(opened.current, equals: 1)
    }
}
