/// What can end the statements of a call before their time.
struct CallBounds {
    /// The asynchronous call, if it is one.
    var call: (any CancellableCall)?
    var deadline: ContinuousClock.Instant?

    var isUnbounded: Bool { call == nil && deadline == nil }

    /// What has ended the call; nil while its statements may run.
    var end: SecureDatabaseInterruption? {
        if call?.wasCancelled == true { return .cancellation }
        return deadline.map { $0 <= .now } == true ? .deadline : nil
    }

    /// - Throws: `CancellationError`, or `.backingStoreError` code 9 after the deadline.
    func check() throws {
        guard let end else { return }
        throw end == .cancellation ? CancellationError() : SecureStorageError.ended(by: end)
    }
}

/// What a store knows of the asynchronous call that it is working for.
protocol CancellableCall: AnyObject {
    var wasCancelled: Bool { get }
}
