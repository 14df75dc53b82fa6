internal import Foundation

/// Asks for commits of others when something has happened to the file, and never otherwise.
///
/// What is written to the log becomes a commit a moment later, after it has been synced, and no
/// event says so. So one event is followed by several questions, each after twice the time, until
/// one shows that nobody is writing.
final class WakeUps: @unchecked Sendable {
    // @unchecked: `watch` and `questionCount` are only touched under `lock`, the rest on `worker`.
    private let path: String
    private let schedule: ChangeFeed.Scheduler
    private let failed: @Sendable (String) -> Void
    private let lock = NSLock()
    private var watch: FileWatch?
    private var hasEnded = false
    /// How often the connection has asked by itself, after its own commits.
    private var questionCount = 0

    private let worker = DispatchQueue(label: "SecureStorage.changes")
    /// nil while nothing has happened.
    private var pause: Int?
    /// What is being waited for: the pause, or the answer after it.
    private var state = State.resting
    /// Counts the pauses, so that one that was cut short has no end.
    private var pauseCount = 0

    private enum State: Equatable {
        case resting
        case pausing(Int)
        case asking
    }

    /// Milliseconds: not at once, so that the end of the commit has come, and so that a writer in
    /// this process, which asks by itself, is not disturbed.
    private static let firstPause = 2
    private static let longestPause = 1024

    /// - Parameters:
    ///   - path: Of the file.
    ///   - schedule: Runs a block when it is its turn.
    ///   - failed: Told when the file cannot be watched.
    init(
        path: String, schedule: @escaping ChangeFeed.Scheduler,
        failed: @escaping @Sendable (String) -> Void
    ) {
        self.path = path
        self.schedule = schedule
        self.failed = failed
    }

    /// Begins to watch, unless it has begun.
    func begin() {
        let isMissing: Bool = lock.withLock {
            guard watch == nil, !hasEnded else { return false }
            watch = FileWatch(path: path, queue: worker) { [weak self] in self?.noteEvent() }
            return watch == nil
        }
        if isMissing {
            failed("the file cannot be watched: commits of other processes are seen late")
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

    /// The connection asks by itself, so what has happened up to now needs no question.
    func willAsk() {
        lock.withLock { questionCount += 1 }
    }

    // MARK: - On the worker

    private func noteEvent() {
        pause = Self.firstPause
        // Not a second time for each event of many.
        if case .pausing(let current) = state, current > Self.firstPause { state = .resting }
        wait()
    }

    private func wait() {
        guard state == .resting, let pause else { return }
        state = .pausing(pause)
        pauseCount += 1
        let (number, count) = (pauseCount, lock.withLock { questionCount })
        worker.asyncAfter(deadline: .now() + .milliseconds(pause)) { [weak self] in
            guard let self, pauseCount == number else { return }
            ask(unlessAskedSince: count)
        }
    }

    private func ask(unlessAskedSince count: Int) {
        guard let pause, !lock.withLock({ hasEnded }) else {
            state = .resting
            return
        }
        state = .asking
        // The connection's own questions do, but for the last one.
        guard pause >= Self.longestPause || lock.withLock({ questionCount == count }) else {
            goOn(after: pause, .answered)
            return
        }
        let answer = Answer { [weak self, worker] question in
            worker.async { [weak self] in self?.goOn(after: pause, question) }
        }
        schedule { store in
            answer.give(
                store.connection?.lookForForeignCommits(isLast: pause >= Self.longestPause)
                    ?? .final)
        }
    }

    private func goOn(after asked: Int, _ question: Connection.Question) {
        state = .resting
        // Something has happened meanwhile: from the beginning.
        if pause == asked {
            pause = question == .final ? nil : min(asked * 2, Self.longestPause)
        }
        wait()
    }

    /// Given at the latest when its block is dropped, as that of a closed pool is.
    private final class Answer: @unchecked Sendable {
        // @unchecked: only touched by the thread that has the turn, then by the last owner.
        private var reply: (@Sendable (Connection.Question) -> Void)?

        init(_ reply: @escaping @Sendable (Connection.Question) -> Void) { self.reply = reply }

        func give(_ question: Connection.Question) {
            reply?(question)
            reply = nil
        }

        // A closed file is told of when it is opened again.
        deinit { reply?(.final) }
    }
}
