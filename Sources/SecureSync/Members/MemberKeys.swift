internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureKeys

/// A member's private keys: one for signing, the others for receiving the group's keys.
///
/// They are in the device's key store, so a copy of the file elsewhere cannot act as the member.
struct MemberKeys: Sendable {
    let id: MemberID
    /// The bytes of the Ed25519 key, of the X25519 key, and the seed of the X-Wing key.
    private let secret: SecretBytes

    static let byteCount = 96

    private init(id: MemberID, secret: SecretBytes) {
        self.id = id
        self.secret = secret
    }

    /// New keys, for a new member.
    static func random() -> MemberKeys {
        MemberKeys(id: .random(), secret: .random(count: byteCount))
    }

    /// Derives the keys and the id from an invitation's secret.
    init(of secret: SecretBytes) {
        func derived(_ purpose: String) -> SymmetricKey {
            KeyDerivation.hkdf(
                secret, salt: [], info: Array("SecureStorage sync \(purpose) 1".utf8))
        }
        let id = derived("invitation id").withUnsafeBytes { MemberID(Array($0.prefix(16))) }
        let keys = [derived("signing"), derived("agreement"), derived("X-Wing")]
        self.init(
            id: id ?? .none,
            secret: SecretBytes(count: Self.byteCount) { bytes in
                for (index, key) in keys.enumerated() {
                    key.withUnsafeBytes { bytes[(32 * index)...].copyBytes(from: $0) }
                }
            })
    }

    // MARK: - The key store

    /// The keys under a name of the key store.
    ///
    /// - Throws: `KeyStoreError`.
    init(named name: String, in store: any KeyStore) throws {
        let bytes = try store.read(name)
        guard bytes.count == MemberID.byteCount + Self.byteCount,
            let id = bytes.withUnsafeBytes({ MemberID(Array($0.prefix(MemberID.byteCount))) })
        else { throw KeyStoreError.damaged(name: name, reason: "no keys of a member") }
        self.init(
            id: id,
            secret: SecretBytes(count: Self.byteCount) { keys in
                bytes.withUnsafeBytes { keys.copyBytes(from: $0[MemberID.byteCount...]) }
            })
    }

    /// Stores the keys, before anyone learns of the member.
    func save(as name: String, in store: any KeyStore) throws {
        let bytes = SecretBytes(count: MemberID.byteCount + Self.byteCount) { bytes in
            bytes.copyBytes(from: id.bytes)
            secret.withUnsafeBytes { secret in
                UnsafeMutableRawBufferPointer(rebasing: bytes[MemberID.byteCount...])
                    .copyBytes(from: secret)
            }
        }
        try store.store(bytes, forName: name)
    }

    /// The name of a member's keys.
    static func name(_ group: Data, _ member: MemberID) -> String {
        "securestorage-sync-\(group.base64EncodedString())-\(member)"
    }

    /// Removes a member's keys from a key store, but not the chain position.
    static func removeAll(_ group: Data, _ member: MemberID, in store: any KeyStore) throws {
        for suffix in ["", SyncGroup.nextSuffix] {
            try store.remove(name(group, member) + suffix)
        }
    }

    // MARK: - Use

    var publicKeys: PublicKeys {
        get throws {
            PublicKeys(
                signing: try signingKey().publicKey.rawRepresentation,
                agreement: try agreementKey().publicKey.rawRepresentation,
                xWing: try xWingPublicKey())
        }
    }

    func signature(of message: Data) throws -> Data { try signingKey().signature(for: message) }

    /// New keys for receiving, with the same signing key.
    func renewed() -> MemberKeys {
        let fresh = SecretBytes.random(count: Self.byteCount)
        return MemberKeys(
            id: id,
            secret: SecretBytes(count: Self.byteCount) { bytes in
                fresh.withUnsafeBytes { bytes.copyBytes(from: $0) }
                secret.withUnsafeBytes { bytes[..<32].copyBytes(from: $0[..<32]) }
            })
    }

    private func signingKey() throws -> Curve25519.Signing.PrivateKey {
        try secret.withUnsafeBytes {
            try Curve25519.Signing.PrivateKey(rawRepresentation: $0[..<32])
        }
    }

    func agreementKey() throws -> Curve25519.KeyAgreement.PrivateKey {
        try secret.withUnsafeBytes {
            try Curve25519.KeyAgreement.PrivateKey(rawRepresentation: $0[32..<64])
        }
    }

    /// nil if the system lacks X-Wing.
    private func xWingPublicKey() throws -> Data? {
        guard #available(macOS 26, iOS 26, macCatalyst 26, tvOS 26, watchOS 26, *) else {
            return nil
        }
        return try xWingKey().publicKey.rawRepresentation
    }

    @available(macOS 26, iOS 26, macCatalyst 26, tvOS 26, watchOS 26, *)
    func xWingKey() throws -> XWingMLKEM768X25519.PrivateKey {
        try secret.withUnsafeBytes {
            try XWingMLKEM768X25519.PrivateKey(seedRepresentation: Data($0[64...]), publicKey: nil)
        }
    }
}
