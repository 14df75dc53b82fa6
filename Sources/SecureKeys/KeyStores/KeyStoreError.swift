public import Foundation

/// The errors of a key store, divided by what a caller can do about them.
///
/// Messages are for people: lower case, with what failed, why, and a hint. They may contain names
/// and file paths, but never a secret.
public enum KeyStoreError: Error, Equatable, Sendable {
    /// The lookup succeeded, and the store has no secret of that name.
    ///
    /// No other case says so. A new key may be created if no data needs the old one.
    case notFound(name: String)

    /// A secret of that name exists and was not changed.
    case alreadyExists(name: String)

    /// The store is locked or not reachable now; the same call can succeed later.
    ///
    /// It says nothing about which secrets exist: never create a new key in response.
    case unavailable(reason: String)

    /// The store rejects the call because of permissions, a policy, or an unsupported secret size.
    case refused(reason: String)

    /// The name holds something other than the bytes that were stored.
    case damaged(name: String, reason: String)

    /// The name is not a valid name of a secret: see ``KeyStore``.
    case invalidName(reason: String)
}

extension KeyStoreError: CustomStringConvertible {
    /// One line that says what failed and what to do.
    public var description: String {
        switch self {
        case .notFound(let name):
            "no secret is named \(Self.quoted(name)); create one only if no data needs the old one"
        case .alreadyExists(let name):
            "a secret named \(Self.quoted(name)) exists and was not changed; read it instead"
        case .unavailable(let reason):
            "the key store is not available: \(reason); try again later"
        case .refused(let reason):
            "the key store refused: \(reason)"
        case .damaged(let name, let reason):
            "the secret \(Self.quoted(name)) is damaged: \(reason); restore it from a backup, or "
                + "remove it if no data needs it"
        case .invalidName(let reason):
            "invalid name for a secret: \(reason); use 1 to 255 bytes of UTF-8"
        }
    }

    /// Returns the name with control characters escaped: names are untrusted input, and messages
    /// may be printed to terminals.
    package static func quoted(_ name: String) -> String {
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
