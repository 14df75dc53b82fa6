/// What has ended a call before its time, when nothing was wrong with the call.
///
/// ```swift
/// do {
///     try pool.write { try $0.executeUpdate("DELETE FROM note WHERE at < ?", limit) }
/// } catch {
///     switch SecureDatabaseInterruption(error) {
///     case .suspension: repeatAfterResume()
///     case .deadline, .cancellation, .request: break
///     case nil: throw error
///     }
/// }
/// ```
///
/// Whichever it was, what the call had written in its transaction was rolled back.
public enum SecureDatabaseInterruption: String, Hashable, Sendable, CaseIterable {
    /// The queue or pool was suspended: the same call succeeds after its `resume()`.
    case suspension
    /// The deadline of ``SecureDatabaseStore/withDeadline(_:_:)`` has passed.
    case deadline
    /// The task of an asynchronous call was cancelled.
    case cancellation
    /// `interrupt()` was called.
    case request

    /// What has ended a call that has thrown `error`; nil for an error of any other kind.
    ///
    /// - Parameter error: Anything that a call of this library throws: `.suspended`,
    ///   `CancellationError`, and errors with code 9 (SQLITE_INTERRUPT).
    public init?(_ error: any Error) {
        if error is CancellationError {
            self = .cancellation
        } else if let interruption = (error as? SecureStorageError)?.interruption {
            self = interruption
        } else {
            return nil
        }
    }
}

extension SecureStorageError {
    /// What has ended the call before its time; nil when it has failed for another reason.
    ///
    /// A call whose task is cancelled ends with `CancellationError`, but inside its block the
    /// statement that runs throws an error of this type; ``SecureDatabaseInterruption/init(_:)``
    /// takes both.
    public var interruption: SecureDatabaseInterruption? {
        switch self {
        case .suspended: return .suspension
        case .openFailed(let code, let message), .encryptionKeyChangeFailed(let code, let message),
            .encryptionKeyChangeUnknown(let code, let message),
            .backingStoreError(let code, let message):
            guard SQLiteResultCode(rawValue: code).primary == .interrupted else { return nil }
            return ErrorTrailer(of: message)?.interruption ?? .request
        case .closed, .authenticationFailed, .notEncrypted, .legacyFormat, .typeConversionFailed:
            return nil
        }
    }
}
