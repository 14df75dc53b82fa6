internal import Foundation

/// How long a suspension waits, step by step.
struct SuspensionWait {
    let grace: Duration
    /// The limit for blocks that continue although their statements are interrupted.
    static let limit = Duration.seconds(2)

    /// Waits for `isDone`; after the grace period, calls `force` again and again.
    ///
    /// Interrupting once is not enough: between two statements it has no effect.
    func wait(for isDone: DispatchSemaphore, forcing force: () -> Void) -> Bool {
        if isDone.wait(timeout: .now() + grace.timeInterval) == .success { return true }
        let end = ContinuousClock.now + Self.limit
        repeat {
            force()
            if isDone.wait(timeout: .now() + 0.01) == .success { return true }
        } while .now < end
        return false
    }
}

extension Duration {
    fileprivate var timeInterval: TimeInterval {
        let (seconds, attoseconds) = components
        return min(max(TimeInterval(seconds) + TimeInterval(attoseconds) * 1e-18, 0), 1e9)
    }
}
