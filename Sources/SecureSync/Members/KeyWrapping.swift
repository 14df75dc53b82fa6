internal import Crypto
internal import Foundation
internal import SecureKeys

/// Secrets for the holder of one private key: HPKE (RFC 9180) in its base mode.
///
/// The bytes: the number of the algorithm, the encapsulated key, the ciphertext.
enum KeyWrapping {
    /// - Returns: Empty for a key that HPKE refuses.
    /// - Throws: ``SyncError/needsNewerSystem``.
    static func wrap(
        _ secret: UnsafeRawBufferPointer, for recipient: PublicKeys, _ algorithm: KeyAlgorithm,
        _ info: [UInt8]
    ) throws -> Data {
        guard #available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *) else {
            throw SyncError.needsNewerSystem
        }
        let key = recipient[algorithm] ?? Data()
        let sender: HPKE.Sender?
        if algorithm == .xWing {
            guard #available(macOS 26, iOS 26, macCatalyst 26, tvOS 26, watchOS 26, *) else {
                throw SyncError.needsNewerSystem
            }
            sender = try? HPKE.Sender(
                recipientKey: XWingMLKEM768X25519.PublicKey(rawRepresentation: key),
                ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256, info: Data(info))
        } else {
            sender = try? HPKE.Sender(
                recipientKey: Curve25519.KeyAgreement.PublicKey(rawRepresentation: key),
                ciphersuite: .Curve25519_SHA256_ChachaPoly, info: Data(info))
        }
        guard var sender, let sealed = try? sender.seal(secret) else { return Data() }
        return Data([UInt8(algorithm.rawValue)]) + sender.encapsulatedKey + sealed
    }

    /// - Returns: nil if the bytes are not wrapped with this information for these keys.
    /// - Throws: ``SyncError/needsNewerSystem``.
    static func unwrap(
        _ wrapped: Data, _ keys: MemberKeys, _ info: [UInt8]
    ) throws -> SecretBytes? {
        guard #available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *) else {
            throw SyncError.needsNewerSystem
        }
        let rest = wrapped.dropFirst()
        let (recipient, count): (HPKE.Recipient?, Int)
        switch wrapped.first.flatMap({ KeyAlgorithm(rawValue: UInt64($0)) }) {
        case .xWing:
            guard #available(macOS 26, iOS 26, macCatalyst 26, tvOS 26, watchOS 26, *) else {
                throw SyncError.needsNewerSystem
            }
            count = 1120
            recipient = try? HPKE.Recipient(
                privateKey: keys.xWingKey(), ciphersuite: .XWingMLKEM768X25519_SHA256_AES_GCM_256,
                info: Data(info), encapsulatedKey: Data(rest.prefix(count)))
        case .x25519:
            count = 32
            recipient = try? HPKE.Recipient(
                privateKey: keys.agreementKey(), ciphersuite: .Curve25519_SHA256_ChachaPoly,
                info: Data(info), encapsulatedKey: Data(rest.prefix(count)))
        case .ed25519, nil: return nil
        }
        guard var recipient, var opened = try? recipient.open(Data(rest.dropFirst(count))) else {
            return nil
        }
        return SecretBytes(erasing: &opened)
    }
}
