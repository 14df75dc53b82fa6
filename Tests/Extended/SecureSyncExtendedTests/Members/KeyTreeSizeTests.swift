import Foundation
import TestSupport
import Testing

@testable import SecureSync

/// What a change of a large group's key takes.
struct KeyTreeSizeTests {
    /// Ten thousand are more than a group may have, and show how it grows.
    @Test(arguments: [(1000, 19), (10_000, 27)])
    func `to remove one of many writers takes few wrapped keys, and only one by HPKE`(
        count: Int, most: Int
    ) throws {
        let admin = MemberKeys.random()
        var tree = KeyTree()
        tree.add(admin.id, isAdmin: true)
        var members: [MemberID: PublicKeys] = [:]
        // What is wrapped for it is not looked at.
        let keys = try admin.publicKeys
        members[admin.id] = keys
        for _ in 0..<count {
            let member = MemberID.random()
            tree.add(member, isAdmin: false)
            members[member] = keys
        }
        let group = Data(count: 16)
        let secret = try GroupSecret.random(.tree, 1)
        // The first keys of all nodes are not looked at.
        var first = try KeyMaking(
            group: group, epoch: .random(1), secret: secret, isNewSecret: false, tree: KeyTree(),
            author: keys, members: members
        ).keys()
        first.secret = .init(commitment: Data(), wrapped: [admin.id: Data()])
        first.sealedForWriters = Data([1])
        first.nodes = tree.nextNodes(isNewSecret: true).map { node in
            let wrapped = tree.children(of: node).map { $0 == .empty ? Data() : Data([1]) }
            return .init(node, commitment: Data(), wrapped: wrapped)
        }
        try tree.take(first) { _, _ in true }
        let gone = try require(members.keys.first { $0 != admin.id })
        tree.remove(gone)
        let next = try KeyMaking(
            group: group, epoch: .random(2), secret: secret, isNewSecret: false, tree: tree,
            author: keys, members: members
        ).keys()
        let wrapped = next.nodes.flatMap(\.wrapped).filter { !$0.isEmpty }
        check(wrapped.count <= most)
        check(wrapped.reduce(0) { $0 + $1.count } < 4000)
        check(wrapped.filter { $0.count > 1000 }.count, equals: 1)
        check(next.secret == nil)
        try tree.take(next) { _, _ in true }
        // The key of the group for all others: a way for each, none for the one that has gone.
        check(tree.way(of: gone, atEpoch: 2, height: tree.height).isEmpty)
        for member in members.keys where member != gone && member != admin.id {
            check(
                tree.way(of: member, atEpoch: 2, height: tree.height).last?.epoch, equals: 2)
        }
    }
}
