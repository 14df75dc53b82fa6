internal import SecureStoragePlatform

/// Runs one piece of asynchronous work at a time, each to its end even if the caller's task is
/// cancelled.
final class OneAtATime: Sendable {
    private let running = Locked<Task<Void, any Error>?>(nil)

    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        while true {
            let earlier = running.withLock { $0 }
            _ = await earlier?.result
            let mine: Task<Void, any Error>? = running.withLock { running in
                guard running == nil else { return nil }
                let task = Task { [self] in
                    defer { self.running.withLock { $0 = nil } }
                    try await work()
                }
                running = task
                return task
            }
            if let mine { return try await mine.value }
        }
    }
}
