internal import Crypto
internal import Foundation
internal import SecureKeys
internal import SecureStoragePlatform

/// 32 bytes that members share: the key of an epoch, or a key that leads to it.
struct GroupSecret: Sendable {
    /// The purpose: bytes made for one use are not valid for another.
    enum Use: Hashable, Sendable {
        case epoch
        /// The secret from which admins derive the keys of the tree.
        case tree
        case node(KeyTree.Node)
    }

    let use: Use
    /// The epoch with which it began.
    let number: UInt64
    let bytes: SecretBytes
    let key: DataEncryptionKey

    init(_ use: Use, _ number: UInt64, _ bytes: SecretBytes) throws {
        self.use = use
        self.number = number
        self.bytes = bytes
        key = try DataEncryptionKey(name: "\(use.name) \(number)", bytes: bytes)
    }

    static func random(_ use: Use, _ number: UInt64) throws -> GroupSecret {
        try GroupSecret(use, number, .random(count: 32))
    }

    /// Derives a node's key from the tree's secret, as of an epoch.
    func derived(_ node: KeyTree.Node, _ number: UInt64, group: Data) throws -> GroupSecret {
        let info = Use.node(node).context("SecureStorage sync tree 1", group, number)
        let derived = KeyDerivation.hkdf(bytes, salt: [], info: info)
        return try GroupSecret(
            .node(node), number,
            SecretBytes(count: 32) { bytes in derived.withUnsafeBytes { bytes.copyBytes(from: $0) }
            })
    }

    /// Shows the holder of a secret whether it is the same as the others'.
    ///
    /// HPKE and AES-GCM do not show that: one ciphertext may open with several keys.
    func commitment(group: Data) -> Data {
        let message = use.context("SecureStorage sync commitment 1", group, number)
        return bytes.withUnsafeBytes {
            Data(
                HMAC<SHA256>.authenticationCode(
                    for: message, using: SymmetricKey(data: Data($0))))
        }
    }

    // MARK: - For one member

    /// The secret, wrapped for the holder of `recipient`'s private key.
    ///
    /// Empty for a key that HPKE refuses: it must not prevent others from getting theirs.
    func wrapped(
        for member: MemberID, _ recipient: PublicKeys, by author: PublicKeys, group: Data
    ) throws -> Data {
        let info = use.context("SecureStorage sync wrap 1", group, number, member.bytes)
        return try bytes.withUnsafeBytes {
            try KeyWrapping.wrap($0, for: recipient, author.wrapping(for: recipient), info)
        }
    }

    /// Unwraps the secret for this member; nil if it was not wrapped for it.
    init?(
        _ use: Use, _ number: UInt64, unwrapping wrapped: Data, _ keys: MemberKeys, group: Data
    ) throws {
        let info = use.context("SecureStorage sync wrap 1", group, number, keys.id.bytes)
        guard let bytes = try KeyWrapping.unwrap(wrapped, keys, info), bytes.count == 32 else {
            return nil
        }
        try self.init(use, number, bytes)
    }

    // MARK: - For holders of another secret

    /// The secret, sealed for all holders of `other`.
    func sealed(with other: GroupSecret) throws -> Data {
        try other.key.seal(bytes, table: Self.table, column: use.name, row: row)
    }

    /// Returns nil if the bytes are not from `sealed`: the author of a key change may write
    /// anything.
    init?(_ use: Use, _ number: UInt64, opening sealed: Data, with other: GroupSecret) {
        let opened = try? other.key.openSecret(
            sealed, table: Self.table, column: use.name, row: .text("\(number)"))
        guard let opened, opened.count == 32,
            let secret = try? GroupSecret(use, number, opened)
        else { return nil }
        self = secret
    }

    private static let table = "SecureStorage sync key 1"
    private var row: RowIdentity { .text("\(number)") }
}

extension GroupSecret.Use {
    var name: String {
        switch self {
        case .epoch: "epoch"
        case .tree: "tree"
        case .node(let node): "node \(node.level) \(node.index)"
        }
    }

    fileprivate func context(
        _ purpose: String, _ group: Data, _ number: UInt64, _ member: Data = Data()
    ) -> [UInt8] {
        var context = ByteWriter()
        context.part(purpose)
        context.part(name)
        context.part(group)
        context.integer(number)
        context.part(member)
        return context.bytes
    }
}
