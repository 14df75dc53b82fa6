import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Every pair of a pool's public calls at the same moment, and all of them in a mix.
///
/// No call hangs, and every outcome is true: nothing is damaged, no key is wrong, and what was
/// written is there.
@Suite(.serialized) struct PoolStormTests {
    @Test(arguments: StormedPool.callNames)
    func `each call runs beside each other call`(_ name: String) async throws {
        try await StormedPool.blowPairs(of: name)
    }

    @Test func `the calls that stop others run in pairs`() async throws {
        try await Storm.apart {
            let names = ["suspend", "close", "rekey", "resume", "read", "write"]
            for (one, other) in Storm.pairs(of: names) {
                let stormed = try StormedPool(storm: one)
                guard try stormed.blow(one, other, rounds: Storm.rounds * 4) else { return }
                try Storm.within("the end of \(one) beside \(other)") { try stormed.end() }
            }
        }
    }

    @Test(arguments: [2, 4])
    func `all calls run in a mix`(_ threads: Int) async throws {
        try await StormedPool.mix(threads: threads)
    }
}

/// A pool under a storm, and the known contents of its file.
private final class StormedPool: StormedDatabase {
    private let database: TemporaryDatabase
    private let pool: SecureDatabasePool
    private let stored = Shared(0)
    /// The number of the file's key; locked while the key changes.
    private let key = Shared(1)
    private let copies = Shared(0)

    static let callNames = [
        "asyncRead", "asyncWrite", "backup", "cancel", "checkpoint", "close", "closeInBlock",
        "interrupt", "keepReads", "open", "read", "rekey", "release", "resume", "rows", "suspend",
        "values", "verify", "write",
    ]

    private let current: Shared<String>
    /// For reports.
    private var storm: String { current.current }

    init(storm: String) throws {
        current = Shared(storm)
        database = try TemporaryDatabase()
        var configuration = database.store().configuration
        configuration.maximumReaderCount = 2
        pool = SecureDatabasePool(url: database.url, configuration: configuration)
        try pool.open(with: .raw(Self.key(1)))
        try pool.write {
            try $0.executeStatements(
                """
                CREATE TABLE t (i INTEGER);
                CREATE TABLE filler (b BLOB); INSERT INTO filler VALUES (zeroblob(20000));
                """)
        }
    }

    func begin(_ storm: String) { current.withLock { $0 = storm } }

    private static func key(_ number: Int) -> Data { Data(repeating: UInt8(number), count: 32) }

    func call(_ name: String, beside names: [String]?) -> Storm.Call {
        let resumes = names.map { !Set($0).isDisjoint(with: ["resume", "open"]) } ?? true
        return Storm.Call(name: name) { [self] in
            switch name {
            case "suspend", "keepReads": suspend(name == "keepReads", isResumed: resumes)
            default: expectTruth(name) { try make(name) }
            }
        }
    }

    private func make(_ name: String) throws {
        switch name {
        case "read": _ = try pool.read { try $0.int("SELECT count(*) FROM t") }
        case "write":
            try pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            stored.withLock { $0 += 1 }
        case "asyncRead":
            try wait { pool in _ = try await pool.read { try $0.int("SELECT count(*) FROM t") } }
        case "asyncWrite":
            try wait { pool in
                try await pool.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            }
            stored.withLock { $0 += 1 }
        case "cancel": try cancelAtOnce()
        case "rows":
            try wait { pool in
                let rows = pool.rows(of: { try $0.executeQuery("SELECT i FROM t") }) {
                    $0.int(forColumnIndex: 0)
                }
                for try await _ in rows {}
            }
        case "values": try readFirstValue()
        case "checkpoint":
            // Busy if a reader uses an older snapshot, which is not an error of the checkpoint.
            do { try pool.checkpoint() } catch SecureStorageError.backingStoreError(5, _) {}
        case "close": pool.close()
        case "closeInBlock": try pool.read { _ in pool.close() }
        case "open": try open()
        case "resume": pool.resume()
        case "interrupt": pool.interrupt()
        case "release": pool.releaseMemory()
        case "rekey":
            try key.withLock { number in
                let next = number % 2 + 1
                try pool.changeEncryptionKey(with: .raw(Self.key(next)))
                number = next
            }
        case "verify":
            let report = try pool.verifyIntegrity()
            check(report.isSound, "\(storm): \(report)")
        case "backup":
            let number = copies.withLock { number in
                number += 1
                return number
            }
            let copy = database.directory.appendingPathComponent("copy-\(number).db")
            try pool.backup(to: copy)
            try FileManager.default.removeItem(at: copy)
        default: Issue.record("no call is named \(name)")
        }
    }

    /// Suspends, and checks that no lock is held if the suspension stays in force.
    private func suspend(_ keepsReads: Bool, isResumed: Bool) {
        expectTruth("suspend") {
            let isFree = try pool.suspend(
                keepingReads: keepsReads, waiting: .milliseconds(Int64.random(in: 0...3)))
            guard !isResumed else { return }
            check(isFree, "\(storm)")
            #if os(Linux)
                let locked = HeldLocks.onFiles(of: database.path)
                check(locked, equals: [], "\(storm): suspended, but still locked")
            #endif
        }
    }

    private func open() throws {
        // The file's key is known only while it is not being changed: try both, then both once
        // more.
        var failure: (any Error)?
        for number in [1, 2, 1, 2] {
            do {
                return try pool.open(with: .raw(Self.key(number)))
            } catch SecureStorageError.authenticationFailed(let message) {
                failure = SecureStorageError.authenticationFailed(message: message)
            }
        }
        if let failure { throw failure }
    }

    private func wait(_ body: @escaping @Sendable (SecureDatabasePool) async throws -> Void) throws
    {
        let done = DispatchSemaphore(value: 0)
        let failure = Shared<(any Error)?>(nil)
        Task { [pool] in
            do { try await body(pool) } catch { failure.withLock { $0 = error } }
            done.signal()
        }
        done.wait()
        if let error = failure.current { throw error }
    }

    private func cancelAtOnce() throws {
        try wait { pool in
            let task = Task { try await pool.read { try $0.int("SELECT count(*) FROM t") } }
            task.cancel()
            do { _ = try await task.value } catch is CancellationError {}
        }
    }

    private func readFirstValue() throws {
        try wait { pool in
            let values = pool.values { try $0.int("SELECT count(*) FROM t") }
            var iterator = values.makeAsyncIterator()
            _ = try await iterator.next()?.get()
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

    /// Checks, while nothing runs, that the pool works and holds what was stored.
    func settle() throws {
        pool.resume()
        if !pool.isOpen() { try pool.open(with: .raw(Self.key(key.current))) }
        let count = try pool.read { try $0.int("SELECT count(*) FROM t") }
        check(count, equals: stored.current, "\(storm)")
    }

    func end() throws {
        try check(pool.verifyIntegrity().isSound)
        pool.close()
        check(storageError { _ = try pool.read { try $0.int("SELECT 1") } }, equals: .closed)
        check(storageError { try pool.write { _ in } }, equals: .closed)
        let names = try database.fileNames()
        check(names, equals: ["test.db"], "\(storm)")
        let store = database.store()
        try store.open(with: Self.key(key.current))
        try check(store.int("SELECT count(*) FROM t"), equals: stored.current)
        store.close()
    }
}
