/// The reason why a call that was itself correct was ended early.
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
/// In every case, the call's writes in its transaction were rolled back.
public enum SecureDatabaseInterruption: String, Hashable, Sendable, CaseIterable {
    /// The queue or pool was suspended; the same call succeeds after `resume()`.
    case suspension
    /// The deadline of ``SecureDatabaseStore/withDeadline(_:_:)`` has passed.
    case deadline
    /// The task of an asynchronous call was cancelled.
    case cancellation
    /// `interrupt()` was called.
    case request

    /// Finds out why a call that threw `error` was ended early; nil for any other error.
    ///
    /// - Parameter error: Any error thrown by this library: `.suspended`, `CancellationError`, and
    ///   errors with code `.interrupted`.
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
    /// The reason why the call was ended early; nil if it failed for another reason.
    ///
    /// A call whose task is cancelled throws `CancellationError`, but a statement running inside
    /// its block throws an error of this type; ``SecureDatabaseInterruption/init(_:)`` accepts
    /// both.
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
