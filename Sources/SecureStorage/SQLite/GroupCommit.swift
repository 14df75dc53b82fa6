internal import CSQLCipher
internal import Foundation
internal import SecureStoragePlatform

/// Waits for the disk once for the commits of several callers (group commit).
///
/// A grouped commit writes its pages to the write-ahead log, without a sync, and leaves the
/// connection to the next caller. Its own caller then waits here for a sync of the log that began
/// after the commit. The first one that waits runs it, on its own thread; those that come while it
/// runs share the next one.
///
/// Each transaction remains one of its own: nothing that another caller does can roll it back, and
/// no block waits for the end of another one.
final class GroupCommit: Sendable {
    typealias Log = UnsafeMutablePointer<sqlite3_file>

    fileprivate enum Answer {
        case durable
        case failed(SecureStorageError)
        /// The waiter has to run the next sync.
        case leads
    }

    fileprivate struct Waiter {
        let number: Int
        let wake: @Sendable (Answer) -> Void
    }

    fileprivate struct State {
        /// The number of grouped commits, and how many of them are on the disk.
        var committed = 0
        var synced = 0
        /// The engine's file of the log; nil before the first commit and after the last one.
        var log: Log?
        var isSyncing = false
        var waiters: [Waiter] = []
        /// What the last sync took, and how many commits it made durable.
        var lastTime = Duration.zero
        var lastSize = 1
        /// The number of commits that are not grouped since a sync costs next to nothing.
        var skips = 0
        /// The leader that lets more commits come, and how many it expects.
        var gathering: (expected: Int, isComplete: DispatchSemaphore)?
        /// Why a sync has failed; what it should have written may be lost, so no later one repairs
        /// it.
        var failure: SecureStorageError?
    }

    private let state = Locked(State())
    /// Runs the syncs of callers that are not threads.
    private let worker = DispatchQueue(label: "SecureStorage.GroupCommit")

    /// The time of a sync below which waiting for it together gains nothing.
    fileprivate static let negligible = Duration.microseconds(100)

    /// Decides whether the next commit is synced with others.
    ///
    /// - Parameter hasWaiters: Whether other callers wait for the connection.
    /// - Returns: Whether it is.
    func decideGrouping(hasWaiters: Bool) -> Bool {
        state.withLock { state in
            guard hasWaiters || state.isSyncing || state.lastSize > 1 else { return false }
            guard state.skips == 0 else {
                state.skips -= 1
                return false
            }
            return true
        }
    }

    /// Notes a commit whose pages are in the log.
    ///
    /// - Parameter log: The engine's file of the log, which it keeps open until `end()`.
    func note(in log: Log?) {
        state.withLock { state in
            state.committed += 1
            state.log = log
            guard let gathering = state.gathering,
                state.committed - state.synced >= gathering.expected
            else { return }
            state.gathering = nil
            gathering.isComplete.signal()
        }
    }

    /// Makes every wait throw from now on.
    func fail(_ failure: SecureStorageError) {
        state.withLock { state in
            state.committed += 1
            state.failure = state.failure ?? failure
        }
    }

    /// The number of the last commit if it may not be on the disk; nil if all of them are.
    var pending: Int? {
        state.withLock { $0.synced < $0.committed ? $0.committed : nil }
    }

    /// Waits until the commits up to `number` are on the disk.
    ///
    /// - Throws: `.backingStoreError` code `.ioError` (SQLITE_IOERR_FSYNC).
    func wait(for number: Int) throws {
        let answer = Locked<Answer?>(nil)
        let end = DispatchSemaphore(value: 0)
        let known = enter(
            Waiter(number: number) { given in
                answer.withLock { $0 = given }
                end.signal()
            })
        if known == nil { end.wait() }
        switch known ?? answer.withLock({ $0 }) {
        case .leads: if let failure = lead() { throw failure }
        case .failed(let failure): throw failure
        case .durable, nil: break
        }
    }

    /// Calls `body` on any thread once the commits up to `number` are on the disk.
    func whenDurable(
        _ number: Int, _ body: @escaping @Sendable (SecureStorageError?) -> Void
    ) {
        let proceed: @Sendable (Answer) -> Void = { [self] answer in
            switch answer {
            case .leads: worker.async { body(self.lead()) }
            case .failed(let failure): body(failure)
            case .durable: body(nil)
            }
        }
        if let known = enter(Waiter(number: number, wake: proceed)) { proceed(known) }
    }

    /// Syncs what is left and forgets the log, which the engine closes next.
    ///
    /// Called by the thread that has the connection, so that no commit follows.
    func end() {
        // Each waiting caller receives the error.
        if let pending { try? wait(for: pending) }
        state.withLock { $0.log = nil }
    }

    /// Returns the answer if it is known, else keeps the waiter.
    private func enter(_ waiter: Waiter) -> Answer? {
        state.withLock { state in
            if let failure = state.failure { return .failed(failure) }
            if state.synced >= waiter.number { return .durable }
            guard state.isSyncing else {
                state.isSyncing = true
                return .leads
            }
            state.waiters.append(waiter)
            return nil
        }
    }

    /// Runs a sync, answers those whose commits it covers, and hands the lead on.
    ///
    /// - Returns: Why it has failed.
    private func lead() -> SecureStorageError? {
        gather()
        let (covered, log) = state.withLock { ($0.committed, $0.log) }
        let start = ContinuousClock.now
        let code = Self.sync(log)
        let time = ContinuousClock.now - start
        let (answered, next) = state.withLock { $0.end(covered, code, time) }
        for waiter in answered.waiters { waiter.wake(answered.answer) }
        next?.wake(.leads)
        guard case .failed(let failure) = answered.answer else { return nil }
        return failure
    }

    /// Waits for the callers that the last sync has released, which mostly commit again at once.
    ///
    /// Without it, the first of them would sync alone, and half of all syncs would carry one
    /// commit.
    private func gather() {
        let complete = DispatchSemaphore(value: 0)
        let limit: Duration? = state.withLock { state in
            guard state.committed - state.synced < state.lastSize else { return nil }
            state.gathering = (state.lastSize, complete)
            return state.lastTime / 2
        }
        guard let limit else { return }
        _ = complete.wait(timeout: .now() + .nanoseconds(Int(limit / .nanoseconds(1))))
        state.withLock { $0.gathering = nil }
    }

    /// Syncs the log as the engine does at a commit that waits for the disk.
    ///
    /// The engine's own method, since the file may be of any VFS. It may run while the connection
    /// writes: it passes the descriptor to the system. FULL differs from NORMAL only on Apple
    /// platforms, where an fsync does not reach the medium.
    private static func sync(_ log: Log?) -> Int32 {
        guard let log, let sync = log.pointee.pMethods?.pointee.xSync else {
            return SQLITE_IOERR
        }
        return sync(log, SQLITE_SYNC_FULL)
    }
}

extension GroupCommit.State {
    fileprivate typealias Answered = (waiters: [GroupCommit.Waiter], answer: GroupCommit.Answer)

    /// Records the end of a sync that began when `covered` commits were in the log.
    ///
    /// - Returns: The waiters to answer, and the one that runs the next sync, if any waits for it.
    fileprivate mutating func end(
        _ covered: Int, _ code: Int32, _ time: Duration
    ) -> (answered: Answered, next: GroupCommit.Waiter?) {
        guard code == SQLITE_OK, failure == nil else {
            let failure = failure ?? .logNotSynced
            self.failure = failure
            isSyncing = false
            defer { waiters = [] }
            return ((waiters, .failed(failure)), nil)
        }
        lastSize = covered - synced
        lastTime = time
        if time < GroupCommit.negligible { skips = 200 }
        synced = covered
        let answered = waiters.filter { $0.number <= covered }
        waiters.removeAll { $0.number <= covered }
        isSyncing = !waiters.isEmpty
        return ((answered, .durable), waiters.isEmpty ? nil : waiters.removeFirst())
    }
}

extension SecureStorageError {
    /// A sync of the log has failed after its commits.
    fileprivate static let logNotSynced = SecureStorageError.engineFailed(
        // SQLITE_IOERR_FSYNC, a macro that Swift cannot import.
        ResultCode(rawValue: 1034), "the write-ahead log could not be written to the disk",
        "the last writes can be read but may not survive a power cut; close the database, check the "
            + "disk, open it again and repeat them")
}
