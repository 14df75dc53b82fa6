import Crypto
import Foundation
@testable import ObjectStores
import SecureKeys
import SecureStoragePlatform

@testable import SecureSync

/// A chain whose entries a test makes by itself, also those that nobody should make.
struct TestChain {
    let group: Data
    let founder = MemberKeys.random()
    var state = MembershipState()
    var objects: [Data] = []

    init(group: Data = Data(RandomBytes.make(16))) throws {
        self.group = group
        let record = try Self.record(founder)
        try append(.found(record, Self.firstKeys(for: [record])), by: founder)
    }

    /// Bytes that say that they are wrapped by X-Wing, and are not.
    static let wrapped = Data([3])
    static let own = ChainEntry.OwnKeys(epoch: wrapped)
    static let adminsOwn = ChainEntry.OwnKeys(epoch: wrapped, secret: wrapped)

    static func own(_ role: ChainEntry.Role) -> ChainEntry.OwnKeys {
        role == .admin ? adminsOwn : own
    }

    /// The keys of the first epoch.
    static func firstKeys(for members: [ChainEntry.Member]) -> ChainEntry.EpochKeys {
        var tree = KeyTree()
        for member in members { tree.add(member.id, isAdmin: member.role == .admin) }
        return keys(of: tree, number: 1)
    }

    private static func keys(of tree: KeyTree, number: UInt64) -> ChainEntry.EpochKeys {
        let commitment = Data(count: 32)
        let admins = tree.admins.map { ($0, wrapped) }
        return .init(
            number: number, commitment: commitment, sealedForAdmins: Data([1]),
            sealedForWriters: Data(count: tree.hasWriters ? 1 : 0),
            secret: tree.needsSecret
                ? .init(
                    commitment: commitment, wrapped: Dictionary(uniqueKeysWithValues: admins))
                : nil,
            nodes: tree.nextNodes(isNewSecret: tree.needsSecret).map { node in
                .init(
                    node, commitment: commitment,
                    wrapped: tree.children(of: node).map { child in
                        switch child {
                        case .empty: Data()
                        case .member: wrapped
                        case .node: Data([1])
                        }
                    })
            })
    }

    static func record(
        _ keys: MemberKeys, _ kind: ChainEntry.Kind = .device, _ role: ChainEntry.Role = .admin
    ) throws -> ChainEntry.Member {
        ChainEntry.Member(
            id: keys.id, keys: try keys.publicKeys, kind: kind, role: role,
            sealedName: Data("name".utf8), nameEpoch: 1,
            mac: Data(count: kind == .device ? 0 : 32))
    }

    func entry(_ action: ChainEntry.Action, by author: MemberID) -> ChainEntry {
        ChainEntry(
            group: group, number: state.count + 1, previous: state.last, author: author, time: 1,
            action: action)
    }

    func bytes(_ action: ChainEntry.Action, by keys: MemberKeys) throws -> Data {
        try entry(action, by: keys.id).signed(by: keys)
    }

    mutating func append(_ action: ChainEntry.Action, by keys: MemberKeys) throws {
        try append(try bytes(action, by: keys))
    }

    mutating func append(_ bytes: Data) throws {
        try state.apply(bytes)
        objects.append(bytes)
    }

    /// Adds a member, by the founder.
    @discardableResult
    mutating func add(
        _ kind: ChainEntry.Kind = .device, _ role: ChainEntry.Role = .admin
    ) throws -> MemberKeys {
        let keys = MemberKeys.random()
        try append(.add(try Self.record(keys, kind, role), Self.own(role)), by: founder)
        return keys
    }

    /// The next key, for all but one.
    func epoch(
        without gone: [MemberID] = [], number: UInt64? = nil, previous: Data = Data([1])
    ) -> ChainEntry.EpochKeys {
        var keys = Self.keys(
            of: state.tree(without: gone), number: number ?? state.epoch + 1)
        (keys.previousNumber, keys.previous) = (state.epoch, previous)
        return keys
    }

    static func position(_ member: MemberID, _ number: UInt64 = 7) -> BatchPosition {
        BatchPosition(member: member, number: number, hash: Data(repeating: 9, count: 32))
    }

    /// Why an entry is refused; nil if it is not.
    func refusal(_ action: ChainEntry.Action, by keys: MemberKeys) throws -> String? {
        refusal(try bytes(action, by: keys))
    }

    func refusal(_ bytes: Data) -> String? {
        var state = state
        do {
            try state.apply(bytes)
            return nil
        } catch let refusal as MembershipState.Refusal {
            return refusal.reason
        } catch let error as CBORError {
            return error.reason
        } catch {
            return "\(error)"
        }
    }
}

/// A store in memory that a test can let lie.
final class ChainStore: ObjectStore {
    private let objects: Locked<[String: Data]>
    /// Runs before each creation.
    let beforeCreate = Locked<(@Sendable (String) async throws -> Void)?>(nil)
    /// Runs once, after the next list was made and before its answer arrives.
    let afterList = Locked<(@Sendable () async throws -> Void)?>(nil)
    /// Whether creations answer that the name exists, after they have created it.
    let losesAnswers = Locked(false)

    init(_ objects: [String: Data] = [:]) { self.objects = Locked(objects) }

    var all: [String: Data] {
        get { objects.withLock { $0 } }
        set { objects.withLock { $0 = newValue } }
    }

    /// The chain's names, in their order.
    var chain: [String] { all.keys.filter { $0.contains("/m/") }.sorted() }

    func set(_ name: String, _ bytes: Data?) { objects.withLock { $0[name] = bytes } }

    func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try await beforeCreate.withLock { $0 }?(name)
        let isNew = objects.withLock { objects in
            guard objects[name] == nil else { return false }
            objects[name] = bytes
            return true
        }
        return isNew && !losesAnswers.withLock { $0 }
    }

    func read(_ name: String) async throws -> Data? { objects.withLock { $0[name] } }

    func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        let page = objects.withLock { objects in
            let found = objects.filter { $0.key.hasPrefix(prefix) && $0.key > after ?? "" }
                .map { StoredObject(name: $0.key, size: $0.value.count) }
                .sorted { $0.name < $1.name }
            return ObjectPage(found, isTruncated: false)
        }
        try await afterList.withLock { action in
            defer { action = nil }
            return action
        }?()
        return page
    }

    func remove(_ names: [String]) async throws {
        objects.withLock { objects in names.forEach { objects[$0] = nil } }
    }

    func mark(_ name: String, _ bytes: Data) async throws { set(name, bytes) }

    func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? { nil }
}
