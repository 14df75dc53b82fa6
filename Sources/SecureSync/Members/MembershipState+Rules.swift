internal import Foundation

// The rules and effects of each action.
extension MembershipState {
    mutating func take(_ entry: ChainEntry, by author: ChainEntry.Member) throws {
        try checkRole(of: author, for: entry.action)
        if author.kind == .device, author.role == .admin { time = max(time, entry.time) }
        switch entry.action {
        case .found, .succeed: throw Refusal("a group is founded once")
        case .add(let member, let own):
            guard author.expires == 0 || max(time, entry.time) <= author.expires else {
                throw Refusal("the invitation has expired")
            }
            if author.kind == .invitation {
                spent.insert(author.id)
                tree.remove(author.id)
                needsRotation = true
            }
            try add(member, own, by: author, entry)
        case .fork(let member, let own, let position):
            guard member.kind == .device, member.role == author.role, position.member == author.id
            else { throw Refusal("a copy continues from its own log, with the same role") }
            try add(member, own, by: author, entry, isFork: true)
        case .remove(let positions, let keys, let snapshot):
            let gone = Set(positions.map(\.member))
            // Of a former member, too: it chose where its log ends when it left.
            guard !positions.isEmpty, gone.count == positions.count, !gone.contains(author.id),
                gone.allSatisfy({ isActive($0) || removed[$0] != nil })
            else { throw Refusal("it removes one that was no other member") }
            depart(positions, snapshot)
            left.subtract(gone)
            try rotate(keys, by: author, entry)
            if snapshot.number > 0 { pins.append(Pin(snapshot: snapshot, epoch: epoch)) }
        case .rotate(let keys): try rotate(keys, by: author, entry)
        case .leave(let position, let snapshot):
            guard position.member == author.id else { throw Refusal("a member only leaves itself") }
            depart([position], snapshot)
            left.insert(author.id)
            guard active.isEmpty || active.contains(where: { $0.role == .admin }) else {
                throw Refusal("the last admin stays while others do; invite another one first")
            }
            needsRotation = true
        case .update(let keys, let own, let asksForKey):
            try update(keys, own, of: author)
            renewals[author.id] = entry.time
            if asksForKey { needsRotation = true }
        }
    }

    private mutating func update(
        _ keys: PublicKeys, _ own: ChainEntry.OwnKeys, of author: ChainEntry.Member
    ) throws {
        guard author.kind == .device, let place = places[author.id] else {
            throw Refusal("a code has always the same keys")
        }
        guard keys.signing == author.keys.signing else {
            throw Refusal("a member signs with one key")
        }
        try requireNew(keys, after: author.keys)
        everyone[place].keys = keys
        usedKeys.formUnion(keys.all.values)
        var new = author
        new.keys = keys
        // Before the tree's secret is given again: someone may know the former one.
        tree.renew(author.id)
        try give(own, to: new, by: new)
    }

    /// Takes the keys wrapped for one member.
    private mutating func give(
        _ own: ChainEntry.OwnKeys, to member: ChainEntry.Member, by author: ChainEntry.Member
    ) throws {
        let isRight =
            Self.isWrapped(own.epoch, for: member, by: author)
            && (member.role == .admin
                ? Self.isWrapped(own.secret, for: member, by: author) : own.secret.isEmpty)
        guard isRight else {
            throw Refusal("a member gets the key, and an admin the secret, as its keys allow")
        }
        wrapped[member.id, default: [:]][epoch] = own.epoch
        if member.role == .admin { tree.give(own.secret, to: member.id) }
    }

    /// Whether bytes are wrapped by the algorithm that their author must use; nothing can be
    /// wrapped for an invalid key.
    private static func isWrapped(
        _ bytes: Data, for member: ChainEntry.Member, by author: ChainEntry.Member
    ) -> Bool {
        guard let algorithm = bytes.first else { return true }
        return UInt64(algorithm) == author.keys.wrapping(for: member.keys).rawValue
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
            case .fork where author.role == .reader:
                throw Refusal("a reader has no log that a copy could continue")
            case .found, .succeed, .leave, .fork, .update: break
            }
        }
    }

    private mutating func add(
        _ member: ChainEntry.Member, _ own: ChainEntry.OwnKeys, by author: ChainEntry.Member,
        _ entry: ChainEntry, isFork: Bool = false
    ) throws {
        try requireNew(member)
        guard active.count < Self.mostMembers else {
            throw Refusal("a group has at most \(Self.mostMembers) members and open invitations")
        }
        guard (1...epoch).contains(member.nameEpoch) else {
            throw Refusal("its name has no key yet")
        }
        append(member, entry, isFork: isFork)
        try give(own, to: member, by: author)
    }

    func requireNew(_ member: ChainEntry.Member) throws {
        guard self.member(member.id) == nil else { throw Refusal("the member was added before") }
        try requireNew(member.keys)
    }

    /// Signatures and keys of one member must never count for another.
    private func requireNew(_ keys: PublicKeys, after old: PublicKeys? = nil) throws {
        guard keys.areAllowed else { throw Refusal("its keys are none of a member") }
        let new = keys.all.values.filter { $0 != old?.signing }
        guard usedKeys.isDisjoint(with: new) else {
            throw Refusal(
                old == nil ? "another member has its keys" : "its keys were used before")
        }
    }

    mutating func append(
        _ member: ChainEntry.Member, _ entry: ChainEntry, isFork: Bool = false
    ) {
        places[member.id] = everyone.count
        everyone.append(member)
        usedKeys.formUnion(member.keys.all.values)
        tree.add(member.id, isAdmin: member.role == .admin)
        origins[member.id] = Origin(
            author: entry.author, number: entry.number, previous: entry.previous,
            time: entry.time, isFork: isFork)
    }

    private mutating func depart(_ positions: [BatchPosition], _ snapshot: SnapshotPin) {
        departures += 1
        let gone = Set(positions.map(\.member))
        let remaining = Set(active(without: gone).map(\.id))
        let all = active.map(\.id)
        spent.formUnion(all.filter { !remaining.contains($0) && !gone.contains($0) })
        for member in all where !remaining.contains(member) { tree.remove(member) }
        for position in positions {
            lastSnapshots[position.member] = snapshot
            removed[position.member] = position
        }
    }

    private mutating func rotate(
        _ keys: ChainEntry.EpochKeys, by author: ChainEntry.Member, _ entry: ChainEntry
    ) throws {
        guard keys.number == epoch + 1, !keys.previous.isEmpty,
            (1...epoch).contains(keys.previousNumber)
        else { throw Refusal("a new key has the next number") }
        try take(keys, by: author, entry)
        needsRotation = false
    }

    mutating func take(
        _ keys: ChainEntry.EpochKeys, by author: ChainEntry.Member, _ entry: ChainEntry
    ) throws {
        var tree = tree
        try tree.take(keys) { bytes, member in
            self.member(member).map { Self.isWrapped(bytes, for: $0, by: author) } ?? false
        }
        self.tree = tree
        epoch = keys.number
        self.keys[epoch] = SealedKey(
            commitment: keys.commitment, forAdmins: keys.sealedForAdmins,
            forWriters: keys.sealedForWriters, height: tree.height,
            previousNumber: keys.previousNumber, previous: keys.previous, author: author.id)
        lastRotation = entry.time
        epochTimes[epoch] = entry.time
    }
}
