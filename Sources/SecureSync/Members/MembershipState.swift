internal import Crypto
package import Foundation

/// Who belongs to a group: a pure function of the entries of its chain.
///
/// Every rule is checked here, by each member for itself: an entry that breaks one is refused, and
/// the chain ends before it.
package struct MembershipState: Equatable, Sendable {
    package private(set) var group = Data()
    /// How many entries were applied.
    package private(set) var count: UInt64 = 0
    /// The hash of the last one.
    package private(set) var last = Data(count: 32)
    /// All that were ever added, in their order.
    package private(set) var everyone: [ChainEntry.Member] = []
    /// Those that are gone, and the last batch of each that counts.
    package private(set) var removed: [MemberID: LogHead] = [:]
    /// Invitations that were used up.
    private var used: Set<MemberID> = []
    package private(set) var epoch: UInt64 = 0
    /// For each epoch the key before, sealed with it.
    package private(set) var previousKeys: [UInt64: Data] = [:]
    /// For each member the newest key that was wrapped for it, and its epoch.
    private var wrapped: [MemberID: WrappedKey] = [:]
    /// Whether a member has left that still knows the key.
    package private(set) var needsRotation = false

    struct WrappedKey: Equatable, Sendable {
        var epoch: UInt64
        var bytes: Data
    }

    package static let mostMembers = 64

    /// Why an entry is refused.
    package struct Refusal: Error, Equatable {
        package var reason: String
        init(_ reason: String) { self.reason = reason }
    }

    package init() {}

    package func isActive(_ member: MemberID) -> Bool { active(member) != nil }

    /// Devices, and invitations that may still be used.
    package var active: [ChainEntry.Member] {
        everyone.filter { removed[$0.id] == nil && !used.contains($0.id) }
    }

    package var devices: [ChainEntry.Member] { active.filter { $0.kind == .device } }

    func member(_ id: MemberID) -> ChainEntry.Member? { everyone.first { $0.id == id } }

    private func active(_ id: MemberID) -> ChainEntry.Member? {
        removed[id] == nil && !used.contains(id) ? member(id) : nil
    }

    func wrappedKey(for member: MemberID) -> WrappedKey? { wrapped[member] }

    // MARK: - Entries

    /// Applies the next entry.
    ///
    /// - Throws: `Refusal` if it breaks a rule; `CBORError`; `NewerFormat`.
    package mutating func apply(_ bytes: Data) throws {
        var next = self
        try next.take(bytes)
        self = next
    }

    private mutating func take(_ bytes: Data) throws {
        let (entry, content, signature) = try ChainEntry.read(bytes)
        guard entry.number == count + 1 else { throw Refusal("it has another number") }
        guard entry.previous == last else { throw Refusal("it does not follow the one before") }
        let author: ChainEntry.Member
        if case .found(let founder, let keys) = entry.action {
            guard count == 0 else { throw Refusal("a group is founded once") }
            guard founder.kind == .device, entry.author == founder.id else {
                throw Refusal("a group is founded by its first device")
            }
            guard keys.number == 1, keys.previous.isEmpty else {
                throw Refusal("the first key has the number 1")
            }
            group = entry.group
            author = founder
            everyone = [founder]
            try take(keys)
        } else {
            guard entry.group == group, count > 0 else { throw Refusal("it is of another group") }
            guard let known = active(entry.author) else {
                throw Refusal("its author is no member")
            }
            author = known
            try take(entry.action, by: author)
        }
        guard author.keys.isValid(signature, for: ChainEntry.message(content)) else {
            throw Refusal("its signature is not valid")
        }
        count += 1
        last = Data(SHA256.hash(data: bytes))
    }

    private mutating func take(_ action: ChainEntry.Action, by author: ChainEntry.Member) throws {
        if author.kind != .device {
            guard case .add(let member, _) = action, member.kind == .device else {
                throw Refusal("an invitation only adds a device")
            }
        }
        switch action {
        case .found: throw Refusal("a group is founded once")
        case .add(let member, let key):
            try add(member, key)
            if author.kind == .invitation { used.insert(author.id) }
        case .fork(let member, let key, let head):
            guard member.kind == .device, head.member == author.id else {
                throw Refusal("a copy goes on from its own log")
            }
            try add(member, key)
        case .remove(let head, let keys):
            guard head.member != author.id, active(head.member) != nil else {
                throw Refusal("it removes one that is no other member")
            }
            removed[head.member] = head
            try rotate(keys)
        case .rotate(let keys): try rotate(keys)
        case .leave(let head):
            guard head.member == author.id else { throw Refusal("a member only leaves itself") }
            removed[author.id] = head
            needsRotation = true
        }
    }

    private mutating func add(_ member: ChainEntry.Member, _ key: Data) throws {
        guard self.member(member.id) == nil else { throw Refusal("the member was added before") }
        guard active.count < Self.mostMembers else {
            throw Refusal("a group has at most \(Self.mostMembers) members and open invitations")
        }
        guard member.nameEpoch <= epoch else { throw Refusal("its name has no key yet") }
        everyone.append(member)
        wrapped[member.id] = WrappedKey(epoch: epoch, bytes: key)
    }

    private mutating func rotate(_ keys: ChainEntry.EpochKeys) throws {
        guard keys.number == epoch + 1, !keys.previous.isEmpty else {
            throw Refusal("a new key has the next number")
        }
        try take(keys)
        needsRotation = false
    }

    private mutating func take(_ keys: ChainEntry.EpochKeys) throws {
        guard Set(keys.wrapped.keys) == Set(active.map(\.id)) else {
            throw Refusal("a new key is for each member, and for no other")
        }
        epoch = keys.number
        if !keys.previous.isEmpty { previousKeys[epoch] = keys.previous }
        for (member, bytes) in keys.wrapped {
            wrapped[member] = WrappedKey(epoch: epoch, bytes: bytes)
        }
    }
}
