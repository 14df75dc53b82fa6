internal import Crypto
package import Foundation

/// Who belongs to a group: a pure function of the objects of its chain.
///
/// Every rule is checked here, by each member for itself. An object that is not an entry of an
/// active member for this place, or breaks a rule, is invalid: it counts as a place, and changes
/// nothing. So nobody who can write into the store, but is no member, stops the chain.
package struct MembershipState: Equatable, Sendable {
    package internal(set) var group = Data()
    /// The groups whose members go on in this one, the last one first.
    package internal(set) var formers: [Data] = []
    /// How many objects were applied, invalid ones included.
    package internal(set) var count: UInt64 = 0
    /// The hash of all of them.
    package var last: Data { hashes.last ?? Data(count: Self.hashCount) }
    /// After each object, the hash of all up to it.
    var hashes: [Data] = []
    /// The epoch after each object.
    var epochs: [UInt64] = []
    /// The places that hold no valid entry: a sign that a stranger can write into the store.
    package internal(set) var invalid: [UInt64] = []
    /// The last place with an entry: what follows it is invalid, and no member's hash covers it
    /// yet.
    package var lastEntry: UInt64 {
        var number = count
        for invalid in invalid.reversed() where invalid == number { number -= 1 }
        return number
    }
    /// All that were ever added, in their order.
    package internal(set) var everyone: [ChainEntry.Member] = []
    var places: [MemberID: Int] = [:]
    /// All keys that members have, or had.
    var usedKeys: Set<Data> = []
    var origins: [MemberID: Origin] = [:]
    /// When each member has replaced its keys last, by its clock, in milliseconds since 1970.
    var renewals: [MemberID: UInt64] = [:]
    /// Those that are gone, and the last batch of each that counts.
    package internal(set) var removed: [MemberID: BatchPosition] = [:]
    /// The newest snapshot when each that is gone went: what it has made since does not count.
    package internal(set) var lastSnapshots: [MemberID: SnapshotPin] = [:]
    /// The snapshots from which the group has gone on after removals, with the keys of later ones.
    package internal(set) var pins: [Pin] = []
    /// Invitations that were used up, or whose maker is gone.
    var spent: Set<MemberID> = []
    package internal(set) var epoch: UInt64 = 0
    /// What the chain says of the key of each epoch.
    var keys: [UInt64: SealedKey] = [:]
    /// What leads members to the keys of the epochs.
    var tree = KeyTree()
    /// The keys that were wrapped for each member alone, by their epochs: one that opens nothing
    /// must not take the earlier ones from it.
    var wrapped: [MemberID: [UInt64: Data]] = [:]
    /// The latest time of an admin's entry, in milliseconds since 1970.
    var time: UInt64 = 0
    /// Whether someone who is no member knows the key: a device that has left, or whoever has an
    /// invitation that was used up.
    package internal(set) var needsRotation = false
    /// When the group's key was changed last, by its author's clock, in milliseconds since 1970.
    package internal(set) var lastRotation: UInt64 = 0

    /// When each epoch began, by its author's clock, in milliseconds since 1970.
    var epochTimes: [UInt64: UInt64] = [:]

    /// A snapshot, and the first epoch of those after it.
    package struct Pin: Hashable, Sendable {
        package var snapshot: SnapshotPin
        package var epoch: UInt64
    }

    /// A key that is sealed with that of an epoch, and how both are recognised.
    struct SealedKey: Equatable, Sendable {
        var commitment: Data
        var forAdmins: Data
        var forWriters: Data
        /// Of the tree.
        var height: Int
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

    package static let mostMembers = 1024
    /// Who was away for longer joins again.
    static let mostFormers = 16
    static let hashCount = ChainPosition.hashCount

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

    func member(_ id: MemberID) -> ChainEntry.Member? { places[id].map { everyone[$0] } }

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

    /// The tree as it is when members have gone.
    func tree(without gone: some Collection<MemberID>) -> KeyTree {
        let remaining = Set(active(without: gone).map(\.id))
        var tree = tree
        for member in active where !remaining.contains(member.id) { tree.remove(member.id) }
        return tree
    }

    /// Where a member was added.
    package func origin(of member: MemberID) -> Origin? { origins[member] }

    func wrappedKeys(for member: MemberID) -> [UInt64: Data] { wrapped[member] ?? [:] }

    /// What the chain says of the key of an epoch.
    func sealedKey(_ epoch: UInt64) -> SealedKey? { keys[epoch] }

    /// Since when a member has its keys, by the clock of who has made the entry, in milliseconds
    /// since 1970.
    func keyTime(of member: MemberID) -> UInt64 {
        renewals[member] ?? origins[member]?.time ?? 0
    }

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

    /// The members as which a member's file was in the group before, and that are gone.
    func formerSelves(of member: MemberID) -> [MemberID] {
        var all: [MemberID] = []
        var member = member
        while let origin = origins[member], origin.isFork {
            member = origin.author
            all.append(member)
        }
        return all.filter { !isActive($0) }
    }

    /// The last entry, which the next batches and manifests name.
    package var position: ChainPosition {
        let number = lastEntry
        return ChainPosition(
            number: number,
            hash: number == 0 ? Data(count: Self.hashCount) : hashes[Int(number) - 1])
    }

    /// 100 bits of a hash of the last entry and all before it, for people to compare.
    var securityCode: String {
        var hash = SHA256()
        hash.update(data: Data("SecureStorage sync security code 1".utf8))
        hash.update(data: group)
        hash.update(data: position.hash)
        let bytes = Array(hash.finalize())
        return (0..<6).map { index in
            // Of so many bits, all remainders are about as likely.
            let number = bytes[(5 * index)..<(5 * index + 5)].reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            let digits = String(number % 100_000)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }.joined(separator: " ")
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
}
