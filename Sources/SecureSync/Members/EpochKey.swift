internal import Crypto
internal import Foundation
internal import SecureKeys

/// The key that seals what is written in one epoch: from one removal or rotation to the next.
struct EpochKey: Sendable {
    let number: UInt64
    private let bytes: SecretBytes
    let key: DataEncryptionKey

    init(_ number: UInt64, _ bytes: SecretBytes) throws {
        self.number = number
        self.bytes = bytes
        key = try DataEncryptionKey(name: "epoch \(number)", bytes: bytes)
    }

    static func random(_ number: UInt64) throws -> EpochKey {
        try EpochKey(number, .random(count: 32))
    }

    /// By which who has a key knows whether it is the one that the others have.
    ///
    /// HPKE and AES-GCM do not tell: one ciphertext may open with several keys.
    func commitment(group: Data) -> Data {
        var message = ByteWriter()
        message.part("SecureStorage sync epoch commitment 1")
        message.part(group)
        message.integer(number)
        return bytes.withUnsafeBytes {
            Data(
                HMAC<SHA256>.authenticationCode(
                    for: message.bytes, using: SymmetricKey(data: Data($0))))
        }
    }

    // MARK: - For one member

    /// HPKE (RFC 9180), base mode: DHKEM(X25519, HKDF-SHA256), HKDF-SHA256, ChaCha20Poly1305.
    private static let algorithm: UInt8 = 1

    /// The key, so that only the holder of `recipient`'s private key gets it.
    func wrapped(for member: MemberID, _ recipient: PublicKeys, group: Data) throws -> Data {
        guard #available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *) else {
            throw SyncError.needsNewerSystem
        }
        var sender = try HPKE.Sender(
            recipientKey: Curve25519.KeyAgreement.PublicKey(
                rawRepresentation: recipient.agreement),
            ciphersuite: .Curve25519_SHA256_ChachaPoly,
            info: Self.info(group, number, member))
        let sealed = try bytes.withUnsafeBytes { try sender.seal($0) }
        return Data([Self.algorithm]) + sender.encapsulatedKey + sealed
    }

    /// The key, wrapped for each member.
    ///
    /// One with a key that HPKE refuses gets nothing: it must not keep the others from theirs.
    func wrapped(
        for members: [ChainEntry.Member], group: Data
    ) throws -> [MemberID: Data] {
        var all: [MemberID: Data] = [:]
        for member in members {
            do {
                all[member.id] = try wrapped(for: member.id, member.keys, group: group)
            } catch let error as SyncError {
                throw error
            } catch {
                all[member.id] = Data()
            }
        }
        return all
    }

    /// Returns the key that was wrapped for this member; nil if it was not.
    init?(_ number: UInt64, unwrapping wrapped: Data, _ keys: MemberKeys, group: Data) throws {
        guard #available(macOS 14, iOS 17, macCatalyst 17, tvOS 17, watchOS 10, *) else {
            throw SyncError.needsNewerSystem
        }
        guard wrapped.first == Self.algorithm, wrapped.count > 33 else { return nil }
        let encapsulated = Data(wrapped.dropFirst().prefix(32))
        guard
            var recipient = try? HPKE.Recipient(
                privateKey: keys.agreementKey(), ciphersuite: .Curve25519_SHA256_ChachaPoly,
                info: Self.info(group, number, keys.id), encapsulatedKey: encapsulated),
            var opened = try? recipient.open(Data(wrapped.dropFirst(33))), opened.count == 32
        else { return nil }
        try self.init(number, SecretBytes(erasing: &opened))
    }

    private static func info(_ group: Data, _ number: UInt64, _ member: MemberID) -> Data {
        var info = ByteWriter()
        info.part("SecureStorage sync epoch key 1")
        info.part(group)
        info.integer(number)
        info.part(member.bytes)
        return Data(info.bytes)
    }

    // MARK: - The past

    /// The key of the epoch before, for all that have this one.
    func sealing(_ previous: EpochKey) throws -> Data {
        try key.seal(
            previous.bytes, table: "SecureStorage sync epoch 1", column: "previous",
            row: .text("\(previous.number)"))
    }

    /// The key of an epoch before; nil if the bytes are not what `sealing` makes, since who has
    /// changed the key may have written anything.
    func previous(_ sealed: Data, number: UInt64) -> EpochKey? {
        let bytes = try? key.openSecret(
            sealed, table: "SecureStorage sync epoch 1", column: "previous",
            row: .text("\(number)"))
        return bytes.flatMap { try? EpochKey(number, $0) }
    }

    // MARK: - Names of devices

    func sealedName(_ name: String, of member: MemberID) throws -> Data {
        try key.seal(
            Data(Padding.padded(Array(name.utf8))),
            table: "SecureStorage sync member 1", column: "name", row: .text("\(member)"))
    }

    /// A member of another group, with its name sealed for this one.
    func naming(_ member: ChainEntry.Member, _ name: String) throws -> ChainEntry.Member {
        var member = member
        (member.sealedName, member.nameEpoch) = (try sealedName(name, of: member.id), number)
        return member
    }

    /// nil if the bytes are not what `sealedName` makes.
    func name(_ sealed: Data, of member: MemberID) -> String? {
        guard
            let padded = try? key.open(
                sealed, table: "SecureStorage sync member 1", column: "name",
                row: .text("\(member)")),
            let bytes = Padding.removed(from: [UInt8](padded))
        else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
