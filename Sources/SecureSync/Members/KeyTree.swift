internal import Foundation

/// The keys between the members' own and the group's: a logical key hierarchy (RFC 2627), kept by
/// the admins.
///
/// Each member has a leaf of a binary tree. A node's key is sealed for each of its two children, so
/// a writer that can open its leaf gets all keys up to the root's, which seals the group's key.
/// When a writer leaves, only the nodes above its leaf get new keys, sealed twice each. Admins must
/// know all of these keys: they are derived from a secret that is wrapped for each admin, and that
/// is replaced when an admin leaves.
package struct KeyTree: Equatable, Sendable {
    package struct Node: Hashable, Comparable, Sendable {
        /// From 1, above the leaves.
        package var level: Int
        package var index: Int

        package static func < (one: Node, other: Node) -> Bool {
            (one.level, one.index) < (other.level, other.index)
        }

        fileprivate init(_ level: Int, _ index: Int) { (self.level, self.index) = (level, index) }

        package init?(level: UInt64, index: UInt64) {
            guard (1...32).contains(level), index < 1 << 32 else { return nil }
            self.init(Int(level), Int(index))
        }

        /// The nodes, or the leaves, below it.
        fileprivate var children: [Int] { [2 * index, 2 * index + 1] }
    }

    enum Child: Equatable {
        /// There is no writer.
        case empty
        case member(MemberID)
        case node(Node)
    }

    private struct Leaf: Equatable {
        var member: MemberID
        var isAdmin: Bool
    }

    private struct Version: Equatable {
        var epoch: UInt64
        var keys: ChainEntry.NodeKeys
    }

    private struct Secret: Equatable {
        var epoch: UInt64
        var keys: ChainEntry.Secret
    }

    private var leaves: [Leaf?] = []
    private var places: [MemberID: Int] = [:]
    /// The leaves whose keys must change with the group's next key.
    private var changed: Set<Int> = []
    private var versions: [Node: [Version]] = [:]
    private var secrets: [Secret] = []
    /// Whether the group's next key needs a new secret for admins.
    private(set) var needsSecret = true

    /// The level of the root.
    var height: Int {
        var height = 1
        while 1 << height < leaves.count { height += 1 }
        return height
    }

    var hasWriters: Bool { leaves.contains(where: isWriter) }

    private func isWriter(_ leaf: Leaf?) -> Bool { leaf?.isAdmin == false }

    var admins: [MemberID] { leaves.compactMap { $0?.isAdmin == true ? $0?.member : nil } }

    // MARK: - Members

    /// Takes the first free leaf.
    mutating func add(_ member: MemberID, isAdmin: Bool) {
        let place = leaves.firstIndex { $0 == nil } ?? leaves.count
        if place == leaves.count { leaves.append(nil) }
        leaves[place] = Leaf(member: member, isAdmin: isAdmin)
        places[member] = place
        if !isAdmin { changed.insert(place) }
    }

    mutating func remove(_ member: MemberID) {
        guard let place = places.removeValue(forKey: member) else { return }
        renew(at: place)
        leaves[place] = nil
        while let last = leaves.last, last == nil { leaves.removeLast() }
    }

    /// Notes that a member has another key.
    mutating func renew(_ member: MemberID) {
        if let place = places[member] { renew(at: place) }
    }

    private mutating func renew(at place: Int) {
        if leaves[place]?.isAdmin == true { needsSecret = true }
        changed.insert(place)
    }

    /// Notes that one more admin has the present secret.
    mutating func give(_ wrapped: Data, to member: MemberID) {
        guard !secrets.isEmpty else { return }
        secrets[secrets.count - 1].keys.wrapped[member] = wrapped
    }

    // MARK: - The next keys

    /// The nodes that get new keys, lowest first.
    func nextNodes(isNewSecret: Bool) -> [Node] {
        var all: [Node] = []
        // The places with a writer below them, and whether a key there has changed.
        var below: [Int: Bool] = [:]
        for (place, leaf) in leaves.enumerated() where isWriter(leaf) {
            below[place] = isNewSecret
        }
        var changed = changed
        for level in 1...height {
            var here: [Int: Bool] = [:]
            changed = Set(changed.map { $0 / 2 })
            for (index, isNew) in below { here[index / 2] = isNew || here[index / 2] ?? false }
            for index in here.keys
            where changed.contains(index) || versions[Node(level, index)] == nil {
                here[index] = true
            }
            all += here.filter(\.value).map { Node(level, $0.key) }
            below = here
        }
        return all.sorted()
    }

    /// The children for which a node's key is sealed.
    func children(of node: Node) -> [Child] {
        node.children.map { index in
            if node.level == 1 {
                guard let leaf = leaf(index), !leaf.isAdmin else { return .empty }
                return .member(leaf.member)
            }
            let width = 1 << (node.level - 1)
            guard leaves.dropFirst(index * width).prefix(width).contains(where: isWriter) else {
                return .empty
            }
            return .node(Node(node.level - 1, index))
        }
    }

    private func leaf(_ index: Int) -> Leaf? { index < leaves.count ? leaves[index] : nil }

    /// The epoch of a node's key.
    func epoch(of node: Node) -> UInt64? { versions[node]?.last?.epoch }

    var root: Node { Node(height, 0) }

    /// The admins' wrapped secret and its epoch; nil before the first.
    func secret(atEpoch epoch: UInt64) -> (epoch: UInt64, keys: ChainEntry.Secret)? {
        secrets.last { $0.epoch <= epoch }.map { ($0.epoch, $0.keys) }
    }

    /// Takes the keys of the next epoch.
    ///
    /// `isWrapped` tells whether bytes are wrapped for a member by the algorithm that their author
    /// must use.
    mutating func take(
        _ keys: ChainEntry.EpochKeys, isWrapped: (Data, MemberID) -> Bool
    ) throws {
        typealias Refusal = MembershipState.Refusal
        let forAll = Refusal("a new key is for each member, and for no other")
        guard keys.secret != nil || !needsSecret else {
            throw Refusal("the secret of the tree changes when an admin's key does")
        }
        if let secret = keys.secret {
            guard Set(secret.wrapped.keys) == Set(admins),
                secret.wrapped.allSatisfy({ isWrapped($1, $0) })
            else { throw forAll }
        }
        guard keys.nodes.map(\.node) == nextNodes(isNewSecret: keys.secret != nil),
            keys.sealedForWriters.isEmpty != hasWriters
        else { throw forAll }
        for keys in keys.nodes {
            for (child, bytes) in zip(children(of: keys.node), keys.wrapped) {
                let isRight =
                    switch child {
                    case .empty: bytes.isEmpty
                    case .member(let member): isWrapped(bytes, member)
                    case .node: true
                    }
                guard isRight else { throw forAll }
            }
        }
        for new in keys.nodes {
            versions[new.node, default: []].append(Version(epoch: keys.number, keys: new))
        }
        if let secret = keys.secret {
            secrets.append(Secret(epoch: keys.number, keys: secret))
        }
        changed = []
        needsSecret = false
    }

    // MARK: - A writer's path

    /// A node on the path from a leaf to the root: the epoch of its key, and that key sealed for
    /// the child below.
    struct Step {
        var node: Node
        var epoch: UInt64
        var commitment: Data
        var wrapped: Data
    }

    /// The path from a member's leaf to the root in an epoch.
    func way(of member: MemberID, atEpoch epoch: UInt64, height: Int) -> [Step] {
        guard var index = places[member] else { return [] }
        var way: [Step] = []
        for level in 1...height {
            let side = index % 2
            index /= 2
            let node = Node(level, index)
            guard let version = versions[node]?.last(where: { $0.epoch <= epoch }) else {
                return []
            }
            way.append(
                Step(
                    node: node, epoch: version.epoch, commitment: version.keys.commitment,
                    wrapped: version.keys.wrapped[side]))
        }
        return way
    }
}
