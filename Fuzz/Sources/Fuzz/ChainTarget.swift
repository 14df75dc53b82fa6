import Foundation
import SecureKeys

@testable import SecureSync

/// Follows a chain of members with an input as its next object, and as what a member has signed.
///
/// An input is an entry, or
///
/// ```
/// offset  bytes
///      0      1  the author, modulo 4: an admin, a writer, an invitation, a removed member
///      1         the action and its fields, in CBOR; place, group and signature are added
/// ```
struct ChainTarget: FuzzTarget {
    private let authors: [MemberKeys]
    private let state: MembershipState

    init() throws {
        authors = try Self.authors()
        state = try Self.state(authors)
    }

    // Fixed, so that the corpus remains useful.
    static func authors() throws -> [MemberKeys] {
        (0..<4).map { MemberKeys(of: SecretBytes(copying: [UInt8](repeating: $0, count: 32))) }
    }

    static let group = Data(repeating: 5, count: 16)

    static func record(
        _ keys: MemberKeys, _ kind: ChainEntry.Kind = .device, _ role: ChainEntry.Role = .admin
    ) throws -> ChainEntry.Member {
        ChainEntry.Member(
            id: keys.id, keys: try keys.publicKeys, kind: kind, role: role,
            sealedName: Data("name".utf8), nameEpoch: 1,
            mac: Data(count: kind == .device ? 0 : 32))
    }

    /// Bytes that say that they are wrapped by X-Wing.
    static let wrapped = Data([3])

    /// A key with all that a tree needs for it.
    static func epoch(_ number: UInt64, _ tree: KeyTree) -> ChainEntry.EpochKeys {
        let (commitment, isNew) = (Data(count: 32), tree.needsSecret)
        let admins = tree.admins.map { ($0, wrapped) }
        return .init(
            number: number, commitment: commitment, sealedForAdmins: Data([1]),
            sealedForWriters: Data(count: tree.hasWriters ? 1 : 0),
            secret: isNew
                ? .init(commitment: commitment, wrapped: Dictionary(uniqueKeysWithValues: admins))
                : nil,
            nodes: tree.nextNodes(isNewSecret: isNew).map { node in
                let children = tree.children(of: node)
                return .init(
                    node, commitment: commitment,
                    wrapped: children.map { $0 == .empty ? Data() : wrapped })
            },
            previousNumber: number - 1, previous: number == 1 ? Data() : Data([1]))
    }

    /// A group with an admin, a writer, an open invitation and a removed member.
    static func state(_ authors: [MemberKeys]) throws -> MembershipState {
        let position = BatchPosition(member: authors[3].id, number: 1, hash: Data(count: 32))
        var state = MembershipState()
        var first = KeyTree()
        first.add(authors[0].id, isAdmin: true)
        let own = ChainEntry.OwnKeys(epoch: wrapped)
        let actions: [(MembershipState) throws -> ChainEntry.Action] = [
            { _ in .found(try record(authors[0]), epoch(1, first)) },
            { _ in .add(try record(authors[1], .device, .writer), own) },
            { _ in .add(try record(authors[2], .invitation, .writer), own) },
            { _ in .add(try record(authors[3]), .init(epoch: wrapped, secret: wrapped)) },
            { .remove([position], epoch(2, $0.tree(without: [authors[3].id]))) },
        ]
        for makeAction in actions {
            let action = try makeAction(state)
            let entry = ChainEntry(
                group: group, number: state.count + 1, previous: state.last,
                author: authors[0].id, time: 1, action: action)
            try state.apply(try entry.signed(by: authors[0]))
        }
        return state
    }

    func run(_ input: Data) throws {
        try read(input)
        try follow(input)
        guard let first = input.first else { return }
        let author = authors[Int(first) % authors.count]
        var writer = CBORWriter()
        writer.array(8)
        writer.unsigned(1)
        writer.data(Self.group)
        writer.unsigned(state.count + 1)
        writer.data(state.last)
        writer.data(author.id.bytes)
        writer.unsigned(1)
        let content = Data(writer.bytes) + input.dropFirst()
        let entry = content + (try author.signature(of: ChainEntry.message(content)))
        try read(entry)
        try follow(entry)
    }

    private func read(_ bytes: Data) throws {
        let entry = try allowing(NewerFormat.self) {
            try allowing(CBORError.self) { try ChainEntry(reading: bytes) }
        }
        guard let entry = entry ?? nil else { return }
        precondition(
            entry.content().elementsEqual(bytes.dropLast(ChainEntry.signatureCount)),
            "an entry has two forms")
    }

    private func follow(_ bytes: Data) throws {
        var next = state
        // The store shows another chain, or a newer version has written it.
        let isFollowed: Void?? = try allowing(NewerFormat.self) {
            try allowing(MembershipState.Refusal.self) { try next.follow(bytes) }
        }
        guard (isFollowed ?? nil) != nil else {
            precondition(next == state, "a refused object has changed something")
            return
        }
        precondition(next.count == state.count + 1, "an object has no place")
        if next.invalid != state.invalid {
            precondition(next.active == state.active && next.epoch == state.epoch, "invalid counts")
            return
        }
        precondition(next.epoch <= state.epoch + 1, "an epoch is missing")
        precondition(!next.isActive(authors[3].id), "a removed member is back")
        precondition(
            next.everyone.map(\.id).starts(with: state.everyone.map(\.id)), "a member is forgotten")
        precondition(next.active.count <= MembershipState.mostMembers, "too many members")
        precondition(
            next.active.isEmpty || next.active.contains { $0.role == .admin }, "no admin is left")
        if next.epoch > state.epoch {
            let tree = next.tree
            for member in next.active {
                let hasKey =
                    member.role == .admin
                    ? tree.secret(atEpoch: next.epoch)?.keys.wrapped[member.id] != nil
                    : tree.way(of: member.id, atEpoch: next.epoch, height: tree.height).last?.node
                        == tree.root
                precondition(hasKey, "a member has no key")
            }
        }
    }
}

extension Seeds {
    /// Each action, by the author who may do it.
    static func entries() throws -> [String: Data] {
        let authors = try ChainTarget.authors()
        let new = MemberKeys(of: SecretBytes(copying: [UInt8](repeating: 9, count: 32)))
        let (device, position) = (
            try ChainTarget.record(new, .device, .writer),
            BatchPosition(member: authors[1].id, number: 3, hash: Data(count: 32))
        )
        let state = try ChainTarget.state(authors)
        var first = KeyTree()
        first.add(new.id, isAdmin: true)
        let wrapped = ChainTarget.wrapped
        let own = ChainEntry.OwnKeys(epoch: wrapped)
        let renewed = MemberKeys(of: SecretBytes(copying: [UInt8](repeating: 8, count: 32)))
        var keys = try renewed.publicKeys
        keys[.ed25519] = try authors[1].publicKeys.signing
        let actions: [String: (UInt8, ChainEntry.Action)] = [
            "found": (0, .found(device, ChainTarget.epoch(1, first))),
            "add": (0, .add(device, own)),
            "invite": (
                0,
                .add(
                    try ChainTarget.record(new, .recovery),
                    .init(epoch: wrapped, secret: wrapped))
            ),
            "enter": (2, .add(device, own)),
            "remove": (
                0, .remove([position], ChainTarget.epoch(3, state.tree(without: [authors[1].id])))
            ),
            "rotate": (0, .rotate(ChainTarget.epoch(3, state.tree))),
            "leave": (1, .leave(position)),
            "fork": (1, .fork(device, own, after: position)),
            "update": (1, .update(keys, own, asksForKey: true)),
        ]
        var seeds: [String: Data] = [:]
        for (name, (author, action)) in actions {
            let entry = ChainEntry(
                group: ChainTarget.group, number: 6, previous: Data(count: 32),
                author: authors[Int(author)].id, time: 1, action: action)
            // What precedes the action: 1 + 1 + 17 + 1 + 34 + 17 + 1 bytes.
            seeds[name] = Data([author]) + entry.content().dropFirst(72)
            seeds["whole-\(name)"] = try entry.signed(by: authors[Int(author)])
        }
        return seeds
    }
}
