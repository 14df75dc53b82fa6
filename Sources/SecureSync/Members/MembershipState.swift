internal import Crypto
package import Foundation

/// The members of a group: a pure function of the objects of its chain.
///
/// Each member checks every rule here. An object is invalid if it is not an entry signed by an
/// active member for its number, or if it breaks a rule: it uses up its number and changes nothing.
/// So someone who can write to the store but is not a member cannot stop the chain.
package struct MembershipState: Equatable, Sendable {
    package internal(set) var group = Data()
    /// The former groups of its members, newest first.
    package internal(set) var formers: [Data] = []
    /// How many objects were applied, including invalid ones.
    package internal(set) var count: UInt64 = 0
    /// The hash of all of them.
    package var last: Data { hashes.last ?? Data(count: Self.hashCount) }
    /// After each object, the hash of all up to it.
    var hashes: [Data] = []
    /// The epoch after each object.
    var epochs: [UInt64] = []
    /// The places that hold no valid entry: a sign that a stranger can write into the store.
    package internal(set) var invalid: [UInt64] = []
    /// The last place with an entry: later objects are invalid, and no member's hash covers them
    /// yet.
    package var lastEntry: UInt64 {
        var number = count
        for invalid in invalid.reversed() where invalid == number { number -= 1 }
        return number
    }
    /// All members ever added, in order.
    package internal(set) var everyone: [ChainEntry.Member] = []
    var places: [MemberID: Int] = [:]
    /// All keys of present and former members.
    var usedKeys: Set<Data> = []
    var origins: [MemberID: Origin] = [:]
    /// When each member last replaced its keys, by its clock, in milliseconds since 1970.
    var renewals: [MemberID: UInt64] = [:]
    /// The members that left or were removed, and the last batch of each that counts.
    package internal(set) var removed: [MemberID: BatchPosition] = [:]
    /// Those of them that left by themselves: what they said makes no adopted snapshot invalid.
    var left: Set<MemberID> = []
    /// The newest snapshot when each of them left: a member's later snapshots do not count.
    package internal(set) var lastSnapshots: [MemberID: SnapshotPin] = [:]
    /// The snapshots from which the group continues after removals, with the first epoch of later
    /// ones.
    package internal(set) var pins: [Pin] = []
    /// The number of entries by which members left or were removed.
    package internal(set) var departures = 0
    /// Invitations that are used up, or whose maker was removed.
    var spent: Set<MemberID> = []
    package internal(set) var epoch: UInt64 = 0
    /// The sealed key of each epoch.
    var keys: [UInt64: SealedKey] = [:]
    /// The tree that leads members to the keys of the epochs.
    var tree = KeyTree()
    /// The keys wrapped for each member alone, by epoch: a useless one must not replace earlier
    /// ones.
    var wrapped: [MemberID: [UInt64: Data]] = [:]
    /// The latest time of an admin's entry, in milliseconds since 1970.
    var time: UInt64 = 0
    /// Whether someone who is not a member knows the key: a device that left, or the holder of a
    /// used invitation.
    package internal(set) var needsRotation = false
    /// When the group's key last changed, by its author's clock, in milliseconds since 1970.
    package internal(set) var lastRotation: UInt64 = 0

    /// When each epoch began, by its author's clock, in milliseconds since 1970.
    var epochTimes: [UInt64: UInt64] = [:]

    /// A snapshot, and the first epoch of later ones.
    package struct Pin: Hashable, Sendable {
        package var snapshot: SnapshotPin
        package var epoch: UInt64
    }

    /// The sealed key of an epoch, with the previous key sealed with it.
    struct SealedKey: Equatable, Sendable {
        var commitment: Data
        var forAdmins: Data
        var forWriters: Data
        /// The tree's height.
        var height: Int
        var previousNumber: UInt64
        var previous: Data
        /// The member that made it.
        var author: MemberID
    }

    /// Where a member was added, and by whom.
    package struct Origin: Equatable, Sendable {
        package var author: MemberID
        package var number: UInt64
        package var previous: Data
        /// By the author's clock, in milliseconds since 1970.
        package var time: UInt64
        /// Whether the author's file became this member.
        package var isFork: Bool
    }

    package static let mostMembers = 1024
    /// A member that missed more resets has to join again.
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

    /// The remaining members after a removal.
    ///
    /// Open invitations of removed members are also removed, since they know these codes.
    func active(without gone: some Collection<MemberID>) -> [ChainEntry.Member] {
        active.filter { member in
            guard !gone.contains(member.id) else { return false }
            guard member.kind != .device, let origin = origins[member.id] else { return true }
            return !gone.contains(origin.author)
        }
    }

    /// The tree after members are removed.
    func tree(without gone: some Collection<MemberID>) -> KeyTree {
        let remaining = Set(active(without: gone).map(\.id))
        var tree = tree
        for member in active where !remaining.contains(member.id) { tree.remove(member.id) }
        return tree
    }

    /// Where a member was added.
    package func origin(of member: MemberID) -> Origin? { origins[member] }

    func wrappedKeys(for member: MemberID) -> [UInt64: Data] { wrapped[member] ?? [:] }

    /// The sealed key of an epoch.
    func sealedKey(_ epoch: UInt64) -> SealedKey? { keys[epoch] }

    /// When a member got its keys, by the clock of the entry's author, in milliseconds since 1970.
    func keyTime(of member: MemberID) -> UInt64 {
        renewals[member] ?? origins[member]?.time ?? 0
    }

    /// The device that added a member, directly or with a code.
    func inviter(of member: MemberID) -> MemberID? {
        guard let author = origins[member]?.author, author != member else { return nil }
        return self.member(author)?.kind == .device ? author : inviter(of: author)
    }

    /// The active members that a member's file became, directly or through others.
    package func forks(of member: MemberID) -> [MemberID] {
        var all: [MemberID] = [member]
        for other in everyone.map(\.id) {
            if let origin = origins[other], origin.isFork, all.contains(origin.author) {
                all.append(other)
            }
        }
        return all.dropFirst().filter(isActive)
    }

    /// The removed members that a member's file was before.
    func formerSelves(of member: MemberID) -> [MemberID] {
        var all: [MemberID] = []
        var member = member
        while let origin = origins[member], origin.isFork {
            member = origin.author
            all.append(member)
        }
        return all.filter { !isActive($0) }
    }

    /// The position of the last entry, for the next batches and manifests.
    package var position: ChainPosition {
        let number = lastEntry
        return ChainPosition(
            number: number,
            hash: number == 0 ? Data(count: Self.hashCount) : hashes[Int(number) - 1])
    }

    /// 100 bits of a hash of the chain up to its last entry, for people to compare.
    var securityCode: String {
        var hash = SHA256()
        hash.update(data: Data("SecureStorage sync security code 1".utf8))
        hash.update(data: group)
        hash.update(data: position.hash)
        let bytes = Array(hash.finalize())
        return (0..<6).map { index in
            // With this many bits, all remainders are almost equally likely.
            let number = bytes[(5 * index)..<(5 * index + 5)].reduce(UInt64(0)) {
                $0 << 8 | UInt64($1)
            }
            let digits = String(number % 100_000)
            return String(repeating: "0", count: 5 - digits.count) + digits
        }.joined(separator: " ")
    }

    /// The hash of all objects up to this number; nil if they were not read.
    func hash(at number: UInt64) -> Data? {
        number > 0 && number <= count ? hashes[Int(number) - 1] : nil
    }

    /// The newest epoch after this number of objects.
    func epoch(at number: UInt64) -> UInt64? {
        number > 0 && number <= count ? epochs[Int(number) - 1] : nil
    }

    static func hash(of bytes: Data) -> Data { Data(SHA256.hash(data: bytes)) }
}
