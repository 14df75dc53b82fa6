/// The conditions that end a call's statements early.
struct CallBounds {
    /// The asynchronous call, if any.
    var call: (any CancellableCall)?
    var deadline: ContinuousClock.Instant?

    var isUnbounded: Bool { call == nil && deadline == nil }

    /// The reason the call has ended; nil while its statements may run.
    var end: SecureDatabaseInterruption? {
        if call?.wasCancelled == true { return .cancellation }
        return deadline.map { $0 <= .now } == true ? .deadline : nil
    }

    /// - Throws: `CancellationError`, or `.backingStoreError` code `.interrupted` after the
    ///   deadline.
    func check() throws {
        guard let end else { return }
        throw end == .cancellation ? CancellationError() : SecureStorageError.ended(by: end)
    }
}

/// The part of an asynchronous call that the store working for it can see.
protocol CancellableCall: AnyObject {
    var wasCancelled: Bool { get }
}
