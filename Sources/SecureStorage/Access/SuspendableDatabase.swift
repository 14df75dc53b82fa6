public import Foundation

extension Notification.Name {
    /// Posted before a queue or a pool, the notification's object, is suspended.
    public static let secureDatabaseWillSuspend = Notification.Name(
        "SecureStorage.databaseWillSuspend")

    /// Posted when a queue or a pool, the notification's object, accepts calls again.
    public static let secureDatabaseDidResume = Notification.Name(
        "SecureStorage.databaseDidResume")
}

/// A queue or a pool that can release its file for a while.
///
/// iOS ends an app that holds a lock on a file in a shared container when it is suspended
/// (`0xDEAD10CC`).
public protocol SuspendableDatabase: AnyObject, Sendable {
    /// Ends running calls and releases every lock on the file.
    ///
    /// - Parameter grace: How long running blocks may continue before their statements are
    ///   interrupted.
    /// - Returns: Whether no lock is held.
    @discardableResult
    func suspend(waiting grace: Duration) -> Bool

    /// Accepts calls again.
    func resume()
}
