/// What can end the statements of a call before their time.
struct CallBounds {
    /// The asynchronous call, if it is one.
    var call: (any CancellableCall)?
    var deadline: ContinuousClock.Instant?

    var isUnbounded: Bool { call == nil && deadline == nil }

    var isOver: Bool {
        call?.wasCancelled == true || deadline.map { $0 <= .now } == true
    }

    /// - Throws: `CancellationError`, or `.backingStoreError` code 9 behind the deadline.
    func check() throws {
        if call?.wasCancelled == true { throw CancellationError() }
        if let deadline, deadline <= .now {
            throw SecureStorageError.statementFailed(
                .interrupted, "the deadline of the call has passed")
        }
    }
}

/// What a store knows of the asynchronous call that it is working for.
protocol CancellableCall: AnyObject {
    var wasCancelled: Bool { get }
}
