internal import Foundation
internal import SecureStoragePlatform

/// Passes chunks from a task, which waits without a thread, to a block that may wait with one.
///
/// One chunk at a time, so that neither side runs ahead.
final class ChunkChannel: Sendable {
    private struct State {
        var chunk: Data?
        /// The sender that waits until its chunk is taken.
        var sender: CheckedContinuation<Void, any Error>?
        var end: Result<Void, any Error>?
    }

    private let state = Locked(State())
    private let arrivals = DispatchSemaphore(value: 0)

    /// Passes a chunk, and waits until it is taken.
    ///
    /// - Throws: Why the receiver takes no more.
    func send(_ chunk: Data) async throws {
        try await withCheckedThrowingContinuation { sender in
            let end: Result<Void, any Error>? = state.withLock { state in
                if let end = state.end { return end }
                (state.chunk, state.sender) = (chunk, sender)
                return nil
            }
            if let end { return sender.resume(with: end) }
            arrivals.signal()
        }
    }

    /// Ends the channel; only the first call counts.
    ///
    /// - Parameter end: A failure is thrown on both sides.
    func end(_ end: Result<Void, any Error>) {
        let sender = state.withLock { state in
            defer { state.sender = nil }
            state.end = state.end ?? end
            return state.sender
        }
        sender?.resume(with: end)
        arrivals.signal()
    }

    /// Takes the next chunk, and blocks until there is one.
    ///
    /// - Returns: nil at the end.
    /// - Throws: The failure with which the channel ended.
    func receive() throws -> Data? {
        arrivals.wait()
        let (chunk, sender, end) = state.withLock { state in
            defer { (state.chunk, state.sender) = (nil, nil) }
            return (state.chunk, state.sender, state.end)
        }
        if case .failure(let error) = end { throw error }
        guard let chunk else {
            // The next call also finds the end.
            arrivals.signal()
            return nil
        }
        sender?.resume()
        return chunk
    }
}
