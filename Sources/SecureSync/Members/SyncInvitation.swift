internal import Crypto
internal import Foundation
internal import SecureKeys
internal import SecureStoragePlatform

/// Lets another file join a group: a code to type, or bytes for a QR code.
///
/// It is a secret: anyone who has it can join, and read everything. It prints as `<redacted>`.
public struct SyncInvitation: Sendable {
    /// How often it can be used.
    public enum Kind: Sendable, Hashable, CaseIterable {
        /// By one device.
        case once
        /// By any number, until it is removed: for a sheet of paper, or a synchronised keychain.
        case recovery
    }

    private let recoveryCode: RecoveryCode

    init(_ code: RecoveryCode) { recoveryCode = code }

    /// Reads a typed code: letters in any case, with or without dashes and spaces.
    ///
    /// - Parameter code: The ``code`` from the other device.
    /// - Throws: ``SyncError/invitationNotAccepted(_:)`` for a code with a typing error.
    public init(code: String) throws {
        do {
            recoveryCode = try RecoveryCode(code)
        } catch {
            throw SyncError.invitationNotAccepted("it is not a code of an invitation; compare it")
        }
    }

    /// The code: letters and digits in groups.
    public var code: String { recoveryCode.formattedText }

    var secret: SecretBytes { recoveryCode.formatted }

    /// Whether a MAC is this invitation's, at this place of the group's chain.
    func hasMade(_ mac: Data, _ group: Data, _ number: UInt64, _ previous: Data) -> Bool {
        SecretBytes(copying: mac) == SecretBytes(copying: self.mac(group, number, previous))
    }

    /// Proves that a chain is the one where the invitation was made.
    func mac(_ group: Data, _ number: UInt64, _ previous: Data) -> Data {
        let key = KeyDerivation.hkdf(
            secret, salt: [], info: Array("SecureStorage sync invitation 1".utf8))
        var message = ByteWriter()
        message.part(group)
        message.integer(number)
        message.part(previous)
        return Data(HMAC<SHA256>.authenticationCode(for: message.bytes, using: key))
    }
}

extension SyncInvitation: CustomStringConvertible, CustomReflectable {
    /// Always `<redacted>`.
    public var description: String { "<redacted>" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
