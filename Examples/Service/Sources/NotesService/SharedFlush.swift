import SecureSync

/// One `flush()` of the mirror for all requests that wait for one.
///
/// A flush covers what was committed before it begins. So a request waits for the next one, not for
/// the one that runs, and every request that arrives until then shares it, and its failure. The
/// mirror's own `flush()` lets each caller make a try of its own, one after the other: while the
/// store does not answer, the tenth caller would wait for ten times the store's patience.
///
/// After ``SyncError/otherMirror(_:)`` no other flush begins: it would take the mirror back from
/// the service that has taken over, whose notes would be lost.
actor SharedFlush {
    private let mirror: DatabaseMirror
    /// Has not begun: whoever comes now shares it.
    private var next: Task<Void, any Error>?
    private var last: Task<Void, any Error>?
    private var end: SyncError?

    init(_ mirror: DatabaseMirror) { self.mirror = mirror }

    /// Returns when the mirror has everything that was committed before the call.
    ///
    /// - Throws: `SyncError`; `SecureStorageError`.
    func flush() async throws {
        try await (next ?? enqueue()).value
    }

    private func enqueue() -> Task<Void, any Error> {
        let earlier = last
        let task = Task {
            _ = await earlier?.result
            try await run()
        }
        next = task
        last = task
        return task
    }

    private func run() async throws {
        next = nil
        if let end { throw end }
        do {
            try await mirror.flush()
        } catch let error as SyncError {
            if case .otherMirror = error { end = error }
            throw error
        }
    }
}
