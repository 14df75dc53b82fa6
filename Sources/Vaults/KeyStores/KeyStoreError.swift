public import Foundation

/// What can go wrong with a key store, as a caller can act on it.
///
/// Messages are for people: lower case, what failed, why, and a hint. They may hold names and file
/// paths; they never hold a secret.
public enum KeyStoreError: Error, Equatable, Sendable {
    /// The store was asked, and has no secret of that name.
    ///
    /// Only this case says so. A new key may be made where no data needs the old one.
    case notFound(name: String)

    /// There is a secret of that name, which was not changed.
    case alreadyExists(name: String)

    /// The store is locked, or not there now; the same call can succeed later.
    ///
    /// It says nothing about which secrets there are: never make a new key for it.
    case unavailable(reason: String)

    /// The store is there and does not do it: permissions, a policy, a secret of a size that it
    /// does not hold.
    case refused(reason: String)

    /// There is something under the name, and it is not what was stored.
    case damaged(name: String, reason: String)

    /// No secret can have that name: see ``KeyStore``.
    case invalidName(reason: String)
}

extension KeyStoreError: CustomStringConvertible {
    /// One line that says what failed, and what to do.
    public var description: String {
        switch self {
        case .notFound(let name):
            "no secret is named \(Self.quoted(name)); make one only where no data needs the old one"
        case .alreadyExists(let name):
            "a secret named \(Self.quoted(name)) exists and was not changed; read it instead"
        case .unavailable(let reason):
            "the key store is not available: \(reason); try again later, and make no new key"
        case .refused(let reason):
            "the key store refused: \(reason)"
        case .damaged(let name, let reason):
            "the secret \(Self.quoted(name)) is damaged: \(reason); restore it from a backup, or "
                + "remove it if no data needs it"
        case .invalidName(let reason):
            "that is no name for a secret: \(reason); take 1 to 255 bytes of UTF-8"
        }
    }

    /// The name as a text without control characters: names come from outside, and messages go to
    /// terminals.
    static func quoted(_ name: String) -> String {
        var text = "\""
        for scalar in name.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .lineSeparator, .paragraphSeparator:
                text += "\\u{\(String(scalar.value, radix: 16))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}

extension KeyStoreError: LocalizedError {
    /// The description.
    public var errorDescription: String? { description }
}
