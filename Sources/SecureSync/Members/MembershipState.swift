internal import Crypto
package import Foundation

/// Who belongs to a group: a pure function of the objects of its chain.
///
/// Every rule is checked here, by each member for itself. An object that is not an entry of an
/// active member for this place, or breaks a rule, is void: it counts as a place, and changes
/// nothing. So nobody who can write into the store, but is no member, stops the chain.
package struct MembershipState: Equatable, Sendable {
    package private(set) var group = Data()
    /// The groups whose members go on in this one, the last one first.
    package private(set) var formers: [Data] = []
    /// How many objects were applied, void ones included.
    package private(set) var count: UInt64 = 0
    /// The hash of all of them.
    package var last: Data { hashes.last ?? Data(count: Self.hashCount) }
    /// After each object, the hash of all up to it.
    private var hashes: [Data] = []
    /// The epoch after each object.
    private var epochs: [UInt64] = []
    /// The places that hold no valid entry: a sign that a stranger can write into the store.
    package private(set) var void: [UInt64] = []
    /// The last place with an entry: what follows it is void, and no member's hash covers it yet.
    package var lastEntry: UInt64 {
        var number = count
        for void in void.reversed() where void == number { number -= 1 }
        return number
    }
    /// All that were ever added, in their order.
    package private(set) var everyone: [ChainEntry.Member] = []
    private var origins: [MemberID: Origin] = [:]
    /// Those that are gone, and the last batch of each that counts.
    package private(set) var removed: [MemberID: LogHead] = [:]
    /// The newest snapshot when each that is gone went: what it has made since does not count.
    package private(set) var lastSnapshots: [MemberID: SnapshotPin] = [:]
    /// The snapshots from which the group has gone on after removals, with the keys of later ones.
    package private(set) var pins: [Pin] = []
    /// Invitations that were used up, or whose maker is gone.
    private var spent: Set<MemberID> = []
    package private(set) var epoch: UInt64 = 0
    /// What the chain says of the key of each epoch.
    private var keys: [UInt64: SealedKey] = [:]
    /// The keys that were wrapped for each member, by their epochs: one that opens nothing must not
    /// take the earlier ones from it.
    private var wrapped: [MemberID: [UInt64: Data]] = [:]
    /// The latest time of an admin's entry, in milliseconds since 1970.
    private var time: UInt64 = 0
    /// Whether someone who is no member knows the key: a device that has left, or whoever has an
    /// invitation that was used up.
    package private(set) var needsRotation = false

    /// A snapshot, and the first epoch of those after it.
    package struct Pin: Hashable, Sendable {
        package var snapshot: SnapshotPin
        package var epoch: UInt64
    }

    /// A key that is sealed with that of an epoch, and how both are recognised.
    struct SealedKey: Equatable, Sendable {
        var commitment: Data
        var previousNumber: UInt64
        var previous: Data
        /// Who has made it.
        var author: MemberID
    }

    /// Where a member was added, and by whom.
    package struct Origin: Equatable, Sendable {
        package var author: MemberID
        package var number: UInt64
        package var previous: Data
        /// By the author's clock, in milliseconds since 1970.
        package var time: UInt64
        /// Whether the author's file goes on as it.
        package var isFork: Bool
    }

    package static let mostMembers = 64
    /// Who was away for longer joins again.
    static let mostFormers = 16
    static let hashCount = 32

    /// Why an entry is refused.
    package struct Refusal: Error, Equatable {
        package var reason: String
        init(_ reason: String) { self.reason = reason }
    }

    package init() {}

    package func isActive(_ member: MemberID) -> Bool { activeMember(member) != nil }

    /// Devices, and invitations that may still be used.
    package var active: [ChainEntry.Member] {
        everyone.filter { removed[$0.id] == nil && !spent.contains($0.id) }
    }

    package var devices: [ChainEntry.Member] { active.filter { $0.kind == .device } }

    func member(_ id: MemberID) -> ChainEntry.Member? { everyone.first { $0.id == id } }

    func activeMember(_ id: MemberID) -> ChainEntry.Member? {
        removed[id] == nil && !spent.contains(id) ? member(id) : nil
    }

    /// Those that remain when members go: their open invitations go with them, since they know
    /// these.
    func active(without gone: some Collection<MemberID>) -> [ChainEntry.Member] {
        active.filter { member in
            guard !gone.contains(member.id) else { return false }
            guard member.kind != .device, let origin = origins[member.id] else { return true }
            return !gone.contains(origin.author)
        }
    }

    /// Where a member was added.
    package func origin(of member: MemberID) -> Origin? { origins[member] }

    func wrappedKeys(for member: MemberID) -> [UInt64: Data] { wrapped[member] ?? [:] }

    /// What the chain says of the key of an epoch.
    func sealedKey(_ epoch: UInt64) -> SealedKey? { keys[epoch] }

    /// The device that has added a member, by itself or by a code that it has made.
    func inviter(of member: MemberID) -> MemberID? {
        guard let author = origins[member]?.author, author != member else { return nil }
        return self.member(author)?.kind == .device ? author : inviter(of: author)
    }

    /// The members that a member's file has gone on as, and theirs, that are active.
    package func forks(of member: MemberID) -> [MemberID] {
        var all: [MemberID] = [member]
        for other in everyone.map(\.id) {
            if let origin = origins[other], origin.isFork, all.contains(origin.author) {
                all.append(other)
            }
        }
        return all.dropFirst().filter(isActive)
    }

    /// The last entry, which the next batches and manifests name.
    package var position: ChainPosition {
        let number = lastEntry
        return ChainPosition(
            number: number,
            hash: number == 0 ? Data(count: Self.hashCount) : hashes[Int(number) - 1])
    }

    /// The hash of all objects up to this number; nil if it was not read.
    func hash(at number: UInt64) -> Data? {
        number > 0 && number <= count ? hashes[Int(number) - 1] : nil
    }

    /// The newest epoch after this number of objects.
    func epoch(at number: UInt64) -> UInt64? {
        number > 0 && number <= count ? epochs[Int(number) - 1] : nil
    }

    static func hash(of bytes: Data) -> Data { Data(SHA256.hash(data: bytes)) }

    // MARK: - Objects

    /// Stands for an object that is too large to be an entry, and is not read.
    static let tooLarge = hash(of: Data())

    /// What is kept of an object that was found to be void: of all but a small one its hash.
    static func shortened(_ object: Data) -> Data {
        object.count > 4096 ? hash(of: object) : object
    }

    /// What a member keeps of an object that it reads: of one that cannot be an entry its hash.
    ///
    /// Also of one that is as long as a hash: otherwise the hash of an entry in its place would
    /// hide the entry from some, and let the chain go on.
    static func kept(of object: Data) -> Data {
        if object.count > ChainEntry.longest { return tooLarge }
        return object.count >= ChainEntry.signatureCount ? object : hash(of: object)
    }

    /// Applies the next object of the chain, or skips it if it is void.
    ///
    /// - Parameter bytes: What is kept of the object: see `kept`.
    /// - Throws: `Refusal` if it was signed for this place by a member, but after another chain
    ///   than this one, and if the first entry is not right; `CBORError` for the first entry;
    ///   `NewerFormat`.
    package mutating func follow(_ bytes: Data) throws {
        // Without its first entry there is no group.
        guard count > 0 else { return try apply(bytes) }
        if bytes.count == Self.hashCount { return skip(bytes) }
        // One that was signed for another place is a replay.
        guard let envelope = try? ChainEnvelope(reading: bytes), envelope.group == group,
            envelope.number == count + 1, let author = activeMember(envelope.author),
            envelope.isSigned(by: author.keys)
        else { return skip(Self.hash(of: bytes)) }
        // Not void: a member that we trust has seen other objects than we were shown.
        guard envelope.previous == last else { throw Refusal("it follows another chain") }
        do {
            try apply(bytes)
        } catch is Refusal {
            skip(Self.hash(of: bytes))
        } catch is CBORError {
            skip(Self.hash(of: bytes))
        }
    }

    private mutating func skip(_ hash: Data) {
        count += 1
        hashes.append(Self.hash(of: last + hash))
        epochs.append(epoch)
        void.append(count)
    }

    /// Applies the next entry.
    ///
    /// - Throws: `Refusal` if it breaks a rule; `CBORError`; `NewerFormat`. Nothing has changed
    ///   then.
    package mutating func apply(_ bytes: Data) throws {
        var next = self
        try next.take(try ChainEntry(reading: bytes), try ChainEnvelope(reading: bytes))
        next.count += 1
        // Of the whole chain: if it were of this object alone, an entry could be hidden before one
        // whose author the reader does not know, and the entry after that one would fit again.
        next.hashes.append(Self.hash(of: last + Self.hash(of: bytes)))
        next.epochs.append(next.epoch)
        self = next
    }

    private mutating func take(_ entry: ChainEntry, _ envelope: ChainEnvelope) throws {
        guard entry.number == count + 1 else { throw Refusal("it has another number") }
        guard entry.previous == last else { throw Refusal("it does not follow the one before") }
        if count == 0 {
            try found(entry)
        } else if entry.group != group {
            throw Refusal("it is of another group")
        }
        guard let author = activeMember(entry.author) else {
            throw Refusal("its author is no member")
        }
        guard envelope.isSigned(by: author.keys) else {
            throw Refusal("its signature is not valid")
        }
        if count > 0 { try take(entry, by: author) }
    }

    private mutating func found(_ entry: ChainEntry) throws {
        let (members, keys): ([ChainEntry.Member], ChainEntry.EpochKeys)
        switch entry.action {
        case .found(let founder, let first): (members, keys) = ([founder], first)
        case .succeed(let before, let all, let first):
            guard !before.isEmpty, !before.contains(entry.group) else {
                throw Refusal("a group follows another one")
            }
            (members, keys, formers) = (all, first, before)
        default: throw Refusal("a group is founded by its first device")
        }
        // Codes on paper stay valid: see SyncGroup.join.
        guard let founder = members.first, founder.role == .admin, entry.author == founder.id,
            founder.kind == .device,
            members.allSatisfy({ $0.kind != .invitation && $0.nameEpoch == 1 })
        else { throw Refusal("a group is founded by its first device") }
        guard keys.number == 1, keys.previous.isEmpty else {
            throw Refusal("the first key has the number 1")
        }
        group = entry.group
        for member in members {
            try requireNew(member)
            append(member, entry)
        }
        guard keys.previousNumber == 0 else { throw Refusal("the first key has the number 1") }
        try take(keys, by: entry.author)
        time = entry.time
    }
}

// MARK: - Rules

extension MembershipState {
    private mutating func take(_ entry: ChainEntry, by author: ChainEntry.Member) throws {
        try checkRole(of: author, for: entry.action)
        if author.kind == .device, author.role == .admin { time = max(time, entry.time) }
        switch entry.action {
        case .found, .succeed: throw Refusal("a group is founded once")
        case .add(let member, let key):
            guard author.expires == 0 || max(time, entry.time) <= author.expires else {
                throw Refusal("the invitation has expired")
            }
            try add(member, key, entry)
            if author.kind == .invitation {
                spent.insert(author.id)
                needsRotation = true
            }
        case .fork(let member, let key, let head):
            guard member.kind == .device, member.role == author.role, head.member == author.id
            else { throw Refusal("a copy goes on from its own log, with the same role") }
            try add(member, key, entry, isFork: true)
        case .remove(let heads, let keys, let snapshot):
            let gone = Set(heads.map(\.member))
            guard !heads.isEmpty, gone.count == heads.count, !gone.contains(author.id),
                gone.allSatisfy(isActive)
            else { throw Refusal("it removes one that is no other member") }
            depart(heads, snapshot)
            try rotate(keys, by: author.id)
            if snapshot.number > 0 { pins.append(Pin(snapshot: snapshot, epoch: epoch)) }
        case .rotate(let keys): try rotate(keys, by: author.id)
        case .leave(let head, let snapshot):
            guard head.member == author.id else { throw Refusal("a member only leaves itself") }
            depart([head], snapshot)
            guard active.isEmpty || active.contains(where: { $0.role == .admin }) else {
                throw Refusal("the last admin stays while others do; invite another one first")
            }
            needsRotation = true
        }
    }

    private func checkRole(
        of author: ChainEntry.Member, for action: ChainEntry.Action
    ) throws {
        if author.kind != .device {
            guard case .add(let member, _) = action, member.kind == .device,
                member.role == author.role
            else { throw Refusal("an invitation only adds a device with its own role") }
        } else if author.role != .admin {
            switch action {
            case .add, .remove, .rotate:
                throw Refusal("only an admin invites, removes and changes the key")
            case .found, .succeed, .leave, .fork: break
            }
        }
    }

    private mutating func add(
        _ member: ChainEntry.Member, _ key: Data, _ entry: ChainEntry, isFork: Bool = false
    ) throws {
        try requireNew(member)
        guard active.count < Self.mostMembers else {
            throw Refusal("a group has at most \(Self.mostMembers) members and open invitations")
        }
        guard (1...epoch).contains(member.nameEpoch) else {
            throw Refusal("its name has no key yet")
        }
        append(member, entry, isFork: isFork)
        wrapped[member.id] = [epoch: key]
    }

    private func requireNew(_ member: ChainEntry.Member) throws {
        guard self.member(member.id) == nil else { throw Refusal("the member was added before") }
        guard member.keys.areAllowed else { throw Refusal("its keys are none of a member") }
        // Signatures and keys of one member must never count for another one.
        guard
            !everyone.contains(where: {
                $0.keys.signing == member.keys.signing || $0.keys.agreement == member.keys.agreement
            })
        else { throw Refusal("another member has its keys") }
    }

    private mutating func append(
        _ member: ChainEntry.Member, _ entry: ChainEntry, isFork: Bool = false
    ) {
        everyone.append(member)
        origins[member.id] = Origin(
            author: entry.author, number: entry.number, previous: entry.previous,
            time: entry.time, isFork: isFork)
    }

    private mutating func depart(_ heads: [LogHead], _ snapshot: SnapshotPin) {
        let gone = Set(heads.map(\.member))
        let remaining = Set(active(without: gone).map(\.id))
        spent.formUnion(active.map(\.id).filter { !remaining.contains($0) && !gone.contains($0) })
        for head in heads {
            lastSnapshots[head.member] = snapshot
            removed[head.member] = head
        }
    }

    private mutating func rotate(_ keys: ChainEntry.EpochKeys, by author: MemberID) throws {
        guard keys.number == epoch + 1, !keys.previous.isEmpty,
            (1...epoch).contains(keys.previousNumber)
        else { throw Refusal("a new key has the next number") }
        try take(keys, by: author)
        needsRotation = false
    }

    private mutating func take(_ keys: ChainEntry.EpochKeys, by author: MemberID) throws {
        guard Set(keys.wrapped.keys) == Set(active.map(\.id)) else {
            throw Refusal("a new key is for each member, and for no other")
        }
        epoch = keys.number
        self.keys[epoch] = SealedKey(
            commitment: keys.commitment, previousNumber: keys.previousNumber,
            previous: keys.previous, author: author)
        for (member, bytes) in keys.wrapped { wrapped[member, default: [:]][epoch] = bytes }
    }
}
