internal import Foundation
internal import SecureStorage

/// Messages of other threads for the main thread, which is the only one that writes output.
final class Mailbox<Message: Sendable>: @unchecked Sendable {
    // @unchecked: `messages` is only accessed under `condition`.
    private let condition = NSCondition()
    private var messages: [Message] = []

    func post(_ message: Message) {
        condition.withLock {
            messages.append(message)
            condition.signal()
        }
    }

    /// Runs asynchronous work and posts its outcome.
    ///
    /// - Returns: The task, which can be cancelled.
    @discardableResult
    func run<R: Sendable>(
        _ end: @escaping @Sendable (Result<R, any Error>) -> Message,
        _ work: @escaping @Sendable () async throws -> R
    ) -> Task<Void, Never> {
        Task {
            let outcome: Result<R, any Error>
            do {
                outcome = .success(try await work())
            } catch {
                outcome = .failure(error)
            }
            self.post(end(outcome))
        }
    }

    /// Waits for the next message; this blocks the calling thread.
    ///
    /// - Parameter limit: In seconds; nil: without end.
    /// - Returns: nil if none came in time.
    func next(within limit: TimeInterval? = nil) -> Message? {
        let end = limit.map { Date(timeIntervalSinceNow: $0) }
        return condition.withLock {
            while messages.isEmpty {
                guard let end else {
                    condition.wait()
                    continue
                }
                guard condition.wait(until: end) else { break }
            }
            return messages.isEmpty ? nil : messages.removeFirst()
        }
    }
}

private enum ProgressMessage<R: Sendable>: Sendable {
    case progress(FileProgress)
    case end(Result<R, any Error>)
}

/// Waits on the main thread for asynchronous work, shows its progress, and cancels it at a signal,
/// which leaves nothing of it behind.
func waiting<R: Sendable>(
    showing title: String,
    for body:
        @escaping @Sendable (
            _ progress: @escaping @Sendable (FileProgress) throws -> Void
        ) async throws -> R
) throws -> R {
    let mailbox = Mailbox<ProgressMessage<R>>()
    try StopSignals.catchAll()
    let bar = ProgressBar(title, total: nil)
    defer { bar.finish() }
    let task = mailbox.run({ .end($0) }) {
        try await body { mailbox.post(.progress($0)) }
    }
    while true {
        // Not longer: a signal handler cannot post a message.
        switch mailbox.next(within: 0.1) {
        case .progress(let progress): bar.advance(to: progress)
        case .end(.failure(let error)):
            try StopSignals.check()
            throw error
        case .end(.success(let result)): return result
        case nil: break
        }
        if StopSignals.hasCome { task.cancel() }
    }
}

/// Waits for asynchronous work that shows no progress.
func waiting<R: Sendable>(for work: @escaping @Sendable () async throws -> R) throws -> R {
    let mailbox = Mailbox<Result<R, any Error>>()
    mailbox.run({ $0 }, work)
    while true {
        if let outcome = mailbox.next() { return try outcome.get() }
    }
}
