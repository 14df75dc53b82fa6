import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Every pair of a queue's public calls at the same moment, and all of them in a mix; see
/// `PoolStormTests`.
@Suite(.serialized) struct QueueStormTests {
    @Test(arguments: StormedQueue.callNames)
    func `each call runs beside each other call`(_ name: String) async throws {
        try await StormedQueue.blowPairs(of: name)
    }

    @Test(arguments: [2, 4])
    func `all calls run in a mix`(_ threads: Int) async throws {
        try await StormedQueue.mix(threads: threads)
    }
}

/// A queue under a storm, and the known contents of its file.
private final class StormedQueue: StormedDatabase {
    private let database: TemporaryDatabase
    private let queue: SecureDatabaseQueue
    private let stored = Shared(0)
    /// The number of the file's key; changed only in the queue's turn.
    private let key = Shared(1)
    private let copies = Shared(0)
    private let current: Shared<String>
    /// For reports.
    private var storm: String { current.current }

    static let callNames = [
        "asyncBackup", "asyncRead", "asyncVerify", "asyncWrite", "backup", "cancel", "checkpoint",
        "close", "export", "interrupt", "open", "read", "rekey", "resume", "rows", "savepoint",
        "suspend", "values", "verify", "write",
    ]

    init(storm: String) throws {
        current = Shared(storm)
        database = try TemporaryDatabase()
        let store = database.store()
        try store.open(with: Self.key(1))
        try store.executeStatements(
            """
            CREATE TABLE t (i INTEGER);
            CREATE TABLE filler (b BLOB); INSERT INTO filler VALUES (zeroblob(20000));
            """)
        queue = SecureDatabaseQueue(databaseStore: store)
    }

    func begin(_ storm: String) { current.withLock { $0 = storm } }

    private static func key(_ number: Int) -> Data { Data(repeating: UInt8(number), count: 32) }

    func call(_ name: String, beside names: [String]?) -> Storm.Call {
        let resumes = names.map { $0.contains("resume") } ?? true
        return Storm.Call(name: name) { [self] in
            expectTruth(name) {
                if name == "suspend" { suspend(isResumed: resumes) } else { try make(name) }
            }
        }
    }

    private func make(_ name: String) throws {
        switch name {
        case "read": _ = try queue.inDatabase { try $0.int("SELECT count(*) FROM t") }
        case "write":
            try queue.inExclusiveTransaction { try self.insert($0) }
            stored.withLock { $0 += 1 }
        case "savepoint":
            try queue.inSavePoint { try self.insert($0) }
            stored.withLock { $0 += 1 }
        case "asyncRead":
            try wait { queue in
                _ = try await queue.inDatabase { try $0.int("SELECT count(*) FROM t") }
            }
        case "asyncWrite":
            try wait { queue in
                try await queue.inImmediateTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (1)")
                    return false
                }
            }
            stored.withLock { $0 += 1 }
        case "cancel": try cancelAtOnce()
        case "rows":
            try wait { queue in
                let rows = queue.rows(of: { try $0.executeQuery("SELECT i FROM t") }) {
                    $0.int(forColumnIndex: 0)
                }
                for try await _ in rows {}
            }
        case "values":
            try wait { queue in
                let values = queue.values { try $0.int("SELECT count(*) FROM t") }
                var iterator = values.makeAsyncIterator()
                _ = try await iterator.next()?.get()
            }
        case "checkpoint":
            // Busy if a reader uses an older snapshot, which is not an error of the checkpoint.
            do { try queue.checkpoint() } catch SecureStorageError.backingStoreError(5, _) {}
        case "close": try queue.inDatabase { $0.close() }
        case "open": try open()
        case "resume": queue.resume()
        case "interrupt": queue.interrupt()
        case "rekey":
            try queue.inDatabase { db in
                let next = key.current % 2 + 1
                try db.changeEncryptionKey(with: Self.key(next))
                key.withLock { $0 = next }
            }
        case "verify": expectSound(try queue.verifyIntegrity())
        case "asyncVerify":
            try wait { [self] queue in expectSound(try await queue.verifyIntegrity()) }
        case "backup", "asyncBackup", "export": try copy(name)
        default: Issue.record("no call is named \(name)")
        }
    }

    private func insert(_ db: SecureDatabaseStore) throws -> Bool {
        try db.executeUpdate("INSERT INTO t VALUES (1)")
        return false
    }

    private func copy(_ name: String) throws {
        let number = copies.withLock { number in
            number += 1
            return number
        }
        let place = database.directory.appendingPathComponent("copy-\(number).db")
        switch name {
        case "backup": try queue.backup(to: place)
        case "export":
            _ = try queue.inDatabase { try $0.export(to: place, key: .raw(Self.secret)) }
        default: try wait { queue in try await queue.backup(to: place) }
        }
        try FileManager.default.removeItem(at: place)
    }

    private static var secret: SecretBytes { SecretBytes(copying: key(9)) }

    private func expectSound(_ report: IntegrityReport) {
        check(report.isSound, "\(storm): \(report)")
    }

    /// Suspends, and checks that no lock is held if the suspension stays in force.
    private func suspend(isResumed: Bool) {
        let isFree = queue.suspend(waiting: .milliseconds(Int64.random(in: 0...3)))
        guard !isResumed else { return }
        check(isFree, "\(storm)")
        #if os(Linux)
            let locked = HeldLocks.onFiles(of: database.path)
            check(locked, equals: [], "\(storm): suspended, but still locked")
        #endif
    }

    private func open() throws {
        try queue.inDatabase { try $0.open(with: Self.key(key.current)) }
    }

    private func wait(
        _ body: @escaping @Sendable (SecureDatabaseQueue) async throws -> Void
    ) throws {
        let done = DispatchSemaphore(value: 0)
        let failure = Shared<(any Error)?>(nil)
        Task { [queue] in
            do { try await body(queue) } catch { failure.withLock { $0 = error } }
            done.signal()
        }
        done.wait()
        if let error = failure.current { throw error }
    }

    private func cancelAtOnce() throws {
        try wait { queue in
            let task = Task { try await queue.inDatabase { try $0.int("SELECT count(*) FROM t") } }
            task.cancel()
            do { _ = try await task.value } catch is CancellationError {}
        }
    }

    private func expectTruth(_ name: String, _ body: () throws -> Void) {
        do {
            try body()
        } catch SecureStorageError.closed, SecureStorageError.suspended {
        } catch SecureStorageError.backingStoreError(9, _) {
            // Interrupted directly or by a suspension.
        } catch {
            Issue.record("\(storm): \(name): \(error)")
        }
    }

    /// Checks, while nothing runs, that the queue works and holds what was stored.
    func settle() throws {
        queue.resume()
        try open()
        let count = try queue.inDatabase { try $0.int("SELECT count(*) FROM t") }
        check(count, equals: stored.current, "\(storm)")
    }

    func end() throws {
        try check(queue.verifyIntegrity().isSound)
        try queue.inDatabase { $0.close() }
        check(storageError { _ = try queue.inDatabase { try $0.int("SELECT 1") } }, equals: .closed)
        let names = try database.fileNames()
        check(names, equals: ["test.db"], "\(storm)")
        let store = database.store()
        try store.open(with: Self.key(key.current))
        try check(store.int("SELECT count(*) FROM t"), equals: stored.current)
        store.close()
    }
}
