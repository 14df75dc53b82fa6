/// A thread or a task that waits for one of a pool's readers.
final class WaitingReader: @unchecked Sendable {
    // @unchecked: the variables are only touched under the pool's condition.
    var reader: SecureDatabaseStore?
    var refusal: SecureStorageError?
    /// Called under the condition when one of the two is set.
    let wake: @Sendable (WaitingReader) -> Void

    init(wake: @escaping @Sendable (WaitingReader) -> Void) { self.wake = wake }
}
