internal import Foundation
internal import SecureStoragePlatform

/// A thread or a task that waits for one of a pool's readers.
final class WaitingReader: Sendable {
    // nonisolated(unsafe): accessed only under the pool's condition.
    nonisolated(unsafe) var answer: Result<PoolConnections.Slot, SecureStorageError>?
    let arrival = MonotonicTime.now
    /// Called under the condition when there is an answer.
    let wake: @Sendable (WaitingReader) -> Void

    init(wake: @escaping @Sendable (WaitingReader) -> Void) { self.wake = wake }
}

/// A thread that waits for a suspension to complete.
final class WaitingSuspension: Sendable {
    let number: Int
    /// Whether no connection to the file is open.
    // nonisolated(unsafe): accessed only under the pool's condition.
    nonisolated(unsafe) var outcome: Bool?
    /// Signalled when there is an outcome.
    let end = DispatchSemaphore(value: 0)

    init(_ number: Int) { self.number = number }
}
