internal import Foundation
internal import SecureStoragePlatform

/// Checks for commits of other connections after file events, and at no other time.
///
/// A write to the log becomes a commit a moment later, after it has been synced, without another
/// event. Therefore several checks follow one event, each after twice the previous pause, until one
/// shows that no connection is writing.
final class WakeUps: @unchecked Sendable {
    // @unchecked: `watch`, `hasEnded` and `checkCount` are only accessed under `lock`, the rest
    // on `worker`.
    private let path: String
    private let schedule: ChangeFeed.Scheduler
    private let failed: @Sendable (String) -> Void
    private let lock = NSLock()
    private var watch: FileWatch?
    private var hasEnded = false
    /// The number of checks that the connection made by itself, after its own commits.
    private var checkCount = 0

    private let worker = DispatchQueue(label: "SecureStorage.changes")
    /// The next pause, in milliseconds; nil while no event is being followed up.
    private var pause: Int?
    /// Whether the worker rests, waits for a pause to end, or waits for the answer after it.
    private var state = State.resting
    /// The number of pauses so far, by which a timer recognizes that its pause was cut short.
    private var pauseCount = 0

    private enum State: Equatable {
        case resting
        case pausing(Int)
        case checking
    }

    /// In milliseconds; long enough for the commit to end, and not to disturb a writer in this
    /// process, which checks by itself.
    private static let firstPause = 2
    private static let longestPause = 1024

    /// - Parameters:
    ///   - path: The path of the file.
    ///   - schedule: Enqueues a block that runs in its turn.
    ///   - failed: Receives a message when the file cannot be watched.
    init(
        path: String, schedule: @escaping ChangeFeed.Scheduler,
        failed: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.schedule = schedule
        self.failed = failed
    }

    /// Starts watching unless it has started already.
    func begin() {
        let isMissing: Bool = lock.withLock {
            guard watch == nil, !hasEnded else { return false }
            watch = FileWatch(path: path, queue: worker) { [weak self] in self?.noteEvent() }
            return watch == nil
        }
        if isMissing {
            failed("cannot watch the file; commits by other processes are reported late")
        }
    }

    func end() {
        let watch = lock.withLock {
            hasEnded = true
            defer { self.watch = nil }
            return self.watch
        }
        watch?.end()
    }

    /// Notes that the connection checks by itself, which covers all events so far.
    func willCheck() {
        lock.withLock { checkCount += 1 }
    }

    // MARK: - On the worker

    private func noteEvent() {
        pause = Self.firstPause
        // Cuts a longer pause short, but does not restart the first one for each of many events.
        if case .pausing(let current) = state, current > Self.firstPause { state = .resting }
        wait()
    }

    private func wait() {
        guard state == .resting, let pause else { return }
        state = .pausing(pause)
        pauseCount += 1
        let (number, count) = (pauseCount, lock.withLock { checkCount })
        worker.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
            guard let self, pauseCount == number else { return }
            check(unlessCheckedSince: count)
        }
    }

    private func check(unlessCheckedSince count: Int) {
        guard let pause, !lock.withLock({ hasEnded }) else {
            state = .resting
            return
        }
        state = .checking
        // The connection's own checks suffice, except for the last one.
        guard pause >= Self.longestPause || lock.withLock({ checkCount == count }) else {
            resume(after: pause, .answered)
            return
        }
        let answer = Answer { [weak self, worker] check in
            worker.async { [weak self] in self?.resume(after: pause, check) }
        }
        schedule { connection in
            answer.give(
                connection?.checkForForeignCommits(isLast: pause >= Self.longestPause) ?? .final)
        }
    }

    private func resume(after checked: Int, _ check: Connection.ForeignCheck) {
        state = .resting
        // If an event has reset `pause` since, start over from it.
        if pause == checked {
            pause = check == .final ? nil : min(checked * 2, Self.longestPause)
        }
        wait()
    }

    /// The answer to a check, given at the latest when the block is dropped, as by a closed pool.
    private final class Answer: Sendable {
        private let reply: Locked<(@Sendable (Connection.ForeignCheck) -> Void)?>

        init(_ reply: @escaping @Sendable (Connection.ForeignCheck) -> Void) {
            self.reply = Locked(reply)
        }

        func give(_ check: Connection.ForeignCheck) {
            reply.withLock { $0.take() }?(check)
        }

        // Changes to a closed file are reported when it is opened again.
        deinit { give(.final) }
    }
}
