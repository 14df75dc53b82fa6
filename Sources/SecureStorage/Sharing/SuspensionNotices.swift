public import Foundation

extension Notification.Name {
    /// Posted before a queue or a pool, the notification's object, is suspended.
    public static let secureDatabaseWillSuspend = Notification.Name(
        "SecureStorage.databaseWillSuspend")

    /// Posted when a queue or a pool, the notification's object, takes calls again.
    public static let secureDatabaseDidResume = Notification.Name(
        "SecureStorage.databaseDidResume")
}

/// A queue or a pool that can be kept off its file for a while.
///
/// iOS ends an app that holds a lock on a file of a shared container when it is suspended
/// (`0xDEAD10CC`).
public protocol SuspendableDatabase: AnyObject, Sendable {
    /// Ends what runs and releases every lock on the file.
    ///
    /// - Parameter grace: How long blocks that run may go on before their statements are
    ///   interrupted.
    /// - Returns: Whether no lock is held.
    @discardableResult
    func suspend(waiting grace: Duration) -> Bool

    /// Takes calls again.
    func resume()
}

/// How long a suspension takes at the most, in steps.
struct SuspensionWait {
    let grace: Duration
    /// For blocks that go on although their statements are interrupted.
    static let limit = Duration.seconds(2)

    /// Waits for `isDone`; after the grace `force` is called again and again.
    ///
    /// Interrupting once is not enough: between two statements it does nothing.
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
