public import Foundation
public import SecureKeys

/// An access key for a store that speaks S3.
///
/// ```swift
/// let credentials = S3Credentials(
///     accessKeyID: "AKIAIOSFODNN7EXAMPLE", secretAccessKey: SecretBytes(utf8: typed))
/// ```
///
/// The secret key and the session token are in memory that is cleared after use, and are neither
/// printed nor shown by a mirror. The secret key is never sent; the session token is, as a header.
/// Values are immutable.
public struct S3Credentials: Sendable, Equatable {
    /// The name of the key, which is not secret.
    public let accessKeyID: String
    /// The secret with which requests are signed.
    public let secretAccessKey: SecretBytes
    /// The token of temporary credentials.
    public let sessionToken: SecretBytes?
    /// The time at which temporary credentials end; nil if it is not known or never comes.
    public let expiration: Date?

    /// Creates credentials.
    ///
    /// - Parameters:
    ///   - accessKeyID: The name of the key.
    ///   - secretAccessKey: The secret key, as its text in UTF-8.
    ///   - sessionToken: The token of temporary credentials, as its text in UTF-8.
    ///   - expiration: Five minutes earlier a store asks its provider for new ones.
    public init(
        accessKeyID: String, secretAccessKey: SecretBytes, sessionToken: SecretBytes? = nil,
        expiration: Date? = nil
    ) {
        self.accessKeyID = accessKeyID
        self.secretAccessKey = secretAccessKey
        self.sessionToken = sessionToken
        self.expiration = expiration
    }

    /// Returns whether these may be used for some minutes yet.
    func isFresh(at date: Date) -> Bool {
        expiration.map { $0 > date.addingTimeInterval(300) } ?? true
    }

    /// Returns the token as a header has it.
    var sessionTokenText: String? {
        sessionToken.map { token in
            token.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
    }
}

extension S3Credentials: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name of the key; nothing that is secret.
    public var description: String { "S3Credentials(\(accessKeyID), <redacted>)" }

    /// As ``description``.
    public var debugDescription: String { description }

    /// A mirror with the name of the key.
    public var customMirror: Mirror { Mirror(self, children: ["accessKeyID": accessKeyID]) }
}
