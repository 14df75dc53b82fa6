public import Foundation

/// Errors of keys, wrapped keys and sealed data, distinguished by how a caller can react.
///
/// Messages are for people: lower case, what failed, why, and a hint. They may contain the names of
/// keys, which are not secret, but never a key, a password, a recovery code or a plaintext.
public enum EnvelopeError: Error, Equatable, Sendable {
    /// The record is intact but was wrapped by another key-encryption key.
    case wrongKey(name: String)

    /// The record is intact but was wrapped with another password.
    case wrongPassword(name: String)

    /// The record is intact but was wrapped with another recovery code.
    case wrongRecoveryCode(name: String)

    /// No record of the set was wrapped by a key-encryption key of this name and kind.
    case noSuchKey(name: String)

    /// The set already has a record of this name.
    case duplicateKey(name: String)

    /// The record is the last one of its set; without it the data key would be lost.
    case lastKey(name: String)

    /// The data key is not the one of this set.
    case otherDataKey(name: String)

    /// The bytes are not a record of this library, or were changed since they were written.
    case damaged(reason: String)

    /// The ciphertext was changed, was sealed with another key, or belongs to another place.
    case notAuthentic(reason: String)

    /// The bytes were written by a newer version of the library.
    case unsupportedVersion(Int)

    /// The parameters of a key derivation, from a caller or a record, are too weak or too costly.
    case unacceptableParameters(reason: String)

    /// A key, its name or a password cannot be used.
    case unacceptableKey(reason: String)

    /// The text cannot be a recovery code: its length or one of its characters is wrong.
    case malformedRecoveryCode(reason: String)

    /// A limit of a key, a set of keys, a message or the memory was exceeded.
    case limitReached(reason: String)

    /// The key was cleared by its owner.
    case cleared(name: String)

    /// The holder has no key: it was never unlocked, was idle for too long, or dropped its key on
    /// request.
    case locked

    /// The stream has ended, or failed earlier.
    case streamEnded
}

extension EnvelopeError: CustomStringConvertible {
    /// One line that says what failed and, where known, what to do about it.
    public var description: String {
        switch self {
        // `debugDescription` escapes terminal control characters: names may come from a file.
        case .wrongKey(let name):
            "the record of key \(name.debugDescription) was wrapped by another key; "
                + "unlock it with the key that wrapped it"
        case .wrongPassword(let name):
            "wrong password for \(name.debugDescription); try again"
        case .wrongRecoveryCode(let name):
            "wrong recovery code for \(name.debugDescription); compare it with what was written down"
        case .noSuchKey(let name):
            "no record for \(name.debugDescription) exists; unlock with one of the set's names"
        case .duplicateKey(let name):
            "a record for \(name.debugDescription) already exists; rewrap it, or use another name"
        case .lastKey(let name):
            "the record of \(name.debugDescription) is the last one; add another first, "
                + "or the data will be lost"
        case .otherDataKey(let name):
            "the data key \(name.debugDescription) does not belong to this set; unwrap the set's own"
        case .damaged(let reason):
            "damaged: \(reason); restore it from a backup"
        case .notAuthentic(let reason):
            "not authentic: \(reason)"
        case .unsupportedVersion(let version):
            "format version \(version) is not supported; update the app"
        case .unacceptableParameters(let reason):
            "key derivation parameters refused: \(reason)"
        case .unacceptableKey(let reason):
            "key refused: \(reason)"
        case .malformedRecoveryCode(let reason):
            "not a recovery code: \(reason)"
        case .limitReached(let reason):
            "limit reached: \(reason)"
        case .cleared(let name):
            "the key \(name.debugDescription) was cleared; unwrap it again"
        case .locked:
            "locked: no key is held; unlock first"
        case .streamEnded:
            "the stream has ended or failed; begin a new one"
        }
    }
}

extension EnvelopeError: LocalizedError {
    /// The same as `description`.
    public var errorDescription: String? { description }
}
