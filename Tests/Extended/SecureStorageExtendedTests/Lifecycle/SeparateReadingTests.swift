import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

/// Copies and checks of a queue's file that run beside its other calls.
struct SeparateReadingTests {
    private let database: TemporaryDatabase
    private let queue: SecureDatabaseQueue

    init() throws {
        database = try TemporaryDatabase()
        // A re-key waits for the snapshot of a check before it clears the log.
        let store = try database.openStore { $0.busyTimeout = .milliseconds(100) }
        try store.executeStatements(
            "CREATE TABLE t (b BLOB); INSERT INTO t VALUES (zeroblob(3000000))")
        queue = SecureDatabaseQueue(databaseStore: store)
    }

    /// Changes the key on another thread, which waits for its turn.
    ///
    /// With `isWaiting` this call also waits until the change is done.
    @discardableResult
    private func changeKey(to number: UInt8, isWaiting: Bool) -> DispatchSemaphore {
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread { [queue] in
            let error = storageError {
                try queue.inDatabase {
                    try $0.changeEncryptionKey(with: Data(repeating: number, count: 32))
                }
            }
            check(error == nil)
            done.signal()
        }
        if isWaiting {
            done.wait()
            done.signal()
        }
        return done
    }

    @Test func `findings made during a key change do not count`() throws {
        var attempts = 0
        let found = try queue.readBeside({ _ in }, isSure: { $0 == "sound" }) { store, _ in
            _ = try store.int("SELECT count(*) FROM t")
            attempts += 1
            if attempts == 1 {
                changeKey(to: 1, isWaiting: true)
                return "damaged"
            }
            return "damaged, for sure"
        }
        check(found, equals: "damaged, for sure")
        check(attempts, equals: 2)
    }

    @Test func `the third attempt makes other calls wait until it is done`() throws {
        var attempts = 0
        var last: DispatchSemaphore?
        try queue.readBeside({ _ in }, isSure: { true }) { store, _ in
            attempts += 1
            last = changeKey(to: UInt8(attempts), isWaiting: attempts < 3)
            guard attempts == 3 else {
                throw SecureStorageError.backingStoreError(code: 26, message: "not a database")
            }
            // This attempt has the queue's turn, so the file still has the second key.
            usleep(50_000)
            _ = try store.int("SELECT count(*) FROM t")
        }
        check(attempts, equals: 3)
        last?.wait()
        try queue.inDatabase { _ = try $0.int("SELECT count(*) FROM t") }
    }

    @Test func `an error of the caller ends a check immediately`() throws {
        struct Enough: Error {}
        var calls = 0
        #expect(throws: Enough.self) {
            try queue.verifyIntegrity { _ in
                calls += 1
                if calls == 1 { changeKey(to: 1, isWaiting: true) }
                throw Enough()
            }
        }
        check(calls, equals: 1)
    }

    @Test func `a check during a key change reports the truth`() throws {
        var calls = 0
        let report = try queue.verifyIntegrity { _ in
            calls += 1
            if calls == 1 { changeKey(to: 1, isWaiting: true) }
        }
        check(report.isSound, "\(report)")
        try queue.inDatabase { $0.close() }
        #expect(throws: SecureStorageError.closed) { try queue.verifyIntegrity() }
    }

    @Test func `a suspension ends a backup and waits for its end`() throws {
        let begun = DispatchSemaphore(value: 0)
        let goOn = DispatchSemaphore(value: 0)
        let error = Shared<SecureStorageError?>(nil)
        let isFree = Shared(true)
        let copy = database.directory.appendingPathComponent("copy.db")
        onThreads(2) { [queue] number in
            guard number == 0 else {
                begun.wait()
                // The backup is still reading, so it holds a lock.
                isFree.withLock { $0 = queue.suspend(waiting: .zero) }
                goOn.signal()
                return
            }
            let thrown = storageError {
                try queue.backup(to: copy) { _ in
                    begun.signal()
                    goOn.wait()
                    goOn.signal()
                }
            }
            error.withLock { $0 = thrown }
        }
        check(!isFree.current)
        check(error.current, equals: .suspended)
        check(queue.suspend())
        #if os(Linux)
            check(HeldLocks.onFiles(of: database.path), equals: [])
        #endif
        queue.resume()
        try queue.backup(to: copy)
    }
}
