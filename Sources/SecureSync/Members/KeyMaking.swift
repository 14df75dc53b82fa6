internal import Foundation

/// Generates an epoch's key, and the key-encryption keys through which each member obtains it.
struct KeyMaking {
    let group: Data
    let epoch: EpochKey
    /// The secret of the tree.
    let secret: GroupSecret
    let isNewSecret: Bool
    /// The tree at the time the keys are made.
    let tree: KeyTree
    let author: PublicKeys
    /// The recipients of the keys.
    let members: [MemberID: PublicKeys]

    /// The keys of an entry; the new key opens the newest earlier one.
    func keys(after previous: EpochKey? = nil) throws -> ChainEntry.EpochKeys {
        let nodes = tree.nextNodes(isNewSecret: isNewSecret)
        let new = Set(nodes)
        let all = try nodes.map { node in
            let key = try derived(node, epoch.number)
            return ChainEntry.NodeKeys(
                node, commitment: key.commitment(group: group),
                wrapped: try tree.children(of: node).map { try wrapped(key, for: $0, new) })
        }
        let root = tree.root
        let rootEpoch = new.contains(root) ? epoch.number : tree.epoch(of: root)
        return ChainEntry.EpochKeys(
            number: epoch.number, commitment: epoch.secret.commitment(group: group),
            sealedForAdmins: try epoch.secret.sealed(with: secret),
            sealedForWriters: try tree.hasWriters
                ? rootEpoch.map { try epoch.secret.sealed(with: derived(root, $0)) } ?? Data()
                : Data(),
            secret: isNewSecret ? try wrappedSecret() : nil, nodes: all,
            previousNumber: previous?.number ?? 0,
            previous: try previous?.secret.sealed(with: epoch.secret) ?? Data())
    }

    private func derived(_ node: KeyTree.Node, _ number: UInt64) throws -> GroupSecret {
        try secret.derived(node, number, group: group)
    }

    private func wrapped(
        _ key: GroupSecret, for child: KeyTree.Child, _ new: Set<KeyTree.Node>
    ) throws -> Data {
        switch child {
        case .empty: Data()
        case .member(let member): try wrapped(key, for: member)
        case .node(let node):
            try key.sealed(
                with: derived(
                    node, new.contains(node) ? epoch.number : tree.epoch(of: node) ?? epoch.number))
        }
    }

    private func wrapped(_ secret: GroupSecret, for member: MemberID) throws -> Data {
        guard let keys = members[member] else { return Data() }
        return try secret.wrapped(for: member, keys, by: author, group: group)
    }

    private func wrappedSecret() throws -> ChainEntry.Secret {
        var wrapped: [MemberID: Data] = [:]
        for admin in tree.admins { wrapped[admin] = try self.wrapped(secret, for: admin) }
        return ChainEntry.Secret(
            commitment: secret.commitment(group: group), wrapped: wrapped)
    }
}

extension KeyMaking {
    /// The first key of a group.
    init(group: Data, first epoch: EpochKey, _ members: [ChainEntry.Member], by author: PublicKeys)
        throws
    {
        var tree = KeyTree()
        for member in members { tree.add(member.id, isAdmin: member.role == .admin) }
        self.init(
            group: group, epoch: epoch, secret: try .random(.tree, epoch.number),
            isNewSecret: true, tree: tree, author: author,
            members: Dictionary(members.map { ($0.id, $0.keys) }, uniquingKeysWith: { $1 }))
    }
}
