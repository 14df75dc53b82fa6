package import Foundation

/// A value that any thread may use, one at a time.
///
/// `Synchronization.Mutex` would do the same, but requires macOS 15.
package final class Locked<State>: @unchecked Sendable {
    // @unchecked: `state` is only accessed under `lock`.
    @usableFromInline let lock = NSLock()
    @usableFromInline var state: State

    @inlinable
    package init(_ state: State) { self.state = state }

    /// Runs `body` with the value; `body` must not use the same lock again.
    ///
    /// - Parameter body: Runs on the calling thread.
    /// - Returns: The result of `body`.
    /// - Throws: The error of `body`.
    @inlinable
    package func withLock<R>(_ body: (inout State) throws -> R) rethrows -> R {
        lock.lock()
        defer { lock.unlock() }
        return try body(&state)
    }
}
