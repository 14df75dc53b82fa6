internal import Crypto
package import Foundation
package import SecureKeys

/// A group, as one of its members reads it in the store and changes it there.
package actor SyncGroup {
    package nonisolated let id: Data
    private let store: any SyncObjectStore
    private let keyStore: any KeyStore
    /// This member.
    package private(set) var member: MemberID
    private var memberKeys: MemberKeys
    package private(set) var state: MembershipState
    /// The entries of the chain that were read, from the first.
    package private(set) var entries: [Data]
    private var epochKeys: [UInt64: EpochKey] = [:]

    private init(
        _ id: Data, _ keys: MemberKeys, in store: any SyncObjectStore, keyStore: any KeyStore,
        chain: (state: MembershipState, entries: [Data]) = (MembershipState(), [])
    ) {
        self.id = id
        self.store = store
        self.keyStore = keyStore
        member = keys.id
        memberKeys = keys
        (state, entries) = chain
    }

    /// The group whose chain a file has kept.
    ///
    /// - Throws: `KeyStoreError` if this device does not have the member's keys; ``SyncError``.
    package init(
        resuming entries: [Data], as member: MemberID, in store: any SyncObjectStore,
        keyStore: any KeyStore
    ) throws {
        guard let first = entries.first else { throw SyncError.notAMember }
        let group = try Self.group(of: first)
        var (state, taken) = (MembershipState(), [Data]())
        for bytes in entries { try Self.take(bytes, group, &state, &taken) }
        self.init(
            group, try MemberKeys(named: MemberKeys.name(group, member), in: keyStore), in: store,
            keyStore: keyStore, chain: (state, taken))
    }

    private static func group(of first: Data) throws -> Data {
        do {
            return try ChainEntry(reading: first).group
        } catch let error as CBORError {
            throw SyncError.damaged("m", error.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat("m")
        }
    }

    // MARK: - Founding and joining

    /// Founds a group with this device as its first member.
    package static func create(
        in store: any SyncObjectStore, keyStore: any KeyStore, deviceName: String
    ) async throws -> SyncGroup {
        let id = Data(RandomBytes.make(16))
        let keys = MemberKeys.random()
        try await store.probe(under: SyncNames.chain(group: id))
        try keys.save(as: MemberKeys.name(id, keys.id), in: keyStore)
        let group = SyncGroup(id, keys, in: store, keyStore: keyStore)
        try await group.found(deviceName)
        return group
    }

    private func found(_ deviceName: String) async throws {
        let epoch = try EpochKey.random(1)
        let founder = try record(memberKeys, deviceName, .admin, epoch)
        try await append { group in
            .found(
                founder,
                .init(
                    number: 1,
                    wrapped: [
                        founder.id: try epoch.wrapped(
                            for: founder.id, founder.keys, group: group.id)
                    ], previous: Data()))
        }
    }

    /// Joins the group in which an invitation was made.
    package static func join(
        _ invitation: SyncInvitation, in store: any SyncObjectStore, keyStore: any KeyStore,
        deviceName: String
    ) async throws -> SyncGroup {
        let guest = MemberKeys(of: invitation.secret)
        guard let id = try await find(guest.id, of: invitation, in: store) else {
            throw SyncError.invitationNotAccepted("the store has no group that made it")
        }
        let group = SyncGroup(id, guest, in: store, keyStore: keyStore)
        try await group.refresh()
        try await group.enter(invitation, deviceName)
        return group
    }

    /// Looks through the groups of a store for the one with a member.
    private static func find(
        _ guest: MemberID, of invitation: SyncInvitation, in store: any SyncObjectStore
    ) async throws -> Data? {
        var last: String?
        while let next = try await store.list("", after: last).first {
            guard let group = SyncNames.group(of: next.name) else {
                last = next.name
                continue
            }
            for entry in try await store.listAll(SyncNames.chain(group: group)) {
                guard let bytes = try await store.read(entry.name),
                    let entry = try? ChainEntry(reading: bytes), entry.group == group,
                    case .add(let added, _) = entry.action, added.id == guest,
                    invitation.hasMade(added.mac, group, entry.number, entry.previous)
                else { continue }
                return group
            }
            // The next name after all that begin with the group's.
            last = SyncNames.end(ofGroup: group)
        }
        return nil
    }

    private func enter(_ invitation: SyncInvitation, _ deviceName: String) async throws {
        let guest = memberKeys
        guard isMadeHere(invitation, guest.id) else {
            throw SyncError.invitationNotAccepted("the store shows another group than its own")
        }
        // Kept until the file has written down that it is a member: a joining that was killed goes
        // on as the same one.
        let place = "securestorage-sync-joining-\(guest.id)"
        var keys: MemberKeys
        do {
            keys = try MemberKeys(named: place, in: keyStore)
        } catch KeyStoreError.notFound {
            keys = .random()
            try keys.save(as: place, in: keyStore)
        }
        if state.member(keys.id) != nil, !state.isActive(keys.id) {
            // That member was removed before its file knew of it.
            keys = .random()
            try keys.save(as: place, in: keyStore)
        }
        let device = keys
        try keys.save(as: MemberKeys.name(id, keys.id), in: keyStore)
        if state.member(keys.id) == nil {
            try await append { group in
                guard let invited = group.state.activeMember(guest.id) else {
                    throw SyncError.invitationNotAccepted(
                        "it was used already, or withdrawn; ask for another one")
                }
                let epoch = try group.currentKey()
                let record = try group.record(device, deviceName, invited.role, epoch)
                return .add(
                    record,
                    key: try epoch.wrapped(for: record.id, record.keys, group: group.id))
            }
        }
        (member, memberKeys) = (keys.id, keys)
    }

    /// The keys of the joining are this member's now, and another joining makes others.
    package func hasEntered(with invitation: SyncInvitation) throws {
        let guest = MemberKeys(of: invitation.secret)
        try keyStore.remove("securestorage-sync-joining-\(guest.id)")
    }

    /// Whether the chain up to the invitation is the one that its maker has seen. What stands in
    /// an object does not count, but where the chain has really added the member.
    private func isMadeHere(_ invitation: SyncInvitation, _ guest: MemberID) -> Bool {
        guard let member = state.member(guest), let origin = state.origin(of: guest) else {
            return false
        }
        return invitation.hasMade(member.mac, id, origin.number, origin.previous)
    }

    // MARK: - Reading

    /// Reads what is new in the chain.
    ///
    /// - Throws: ``SyncError/storeHasForgotten(member:have:found:)`` if the store shows less of it
    ///   than before, `.damaged` for an entry that breaks a rule.
    package func refresh() async throws {
        let prefix = SyncNames.chain(group: id)
        let known = state.count
        let names = try await store.listAll(
            prefix,
            after: known < 2 ? nil : SyncNames.chainEntry(group: id, number: known - 1))
        let numbers = names.compactMap { SyncNames.number(of: $0.name, after: prefix) }
        guard known == 0 || numbers.first == known else {
            throw SyncError.storeHasForgotten(
                member: "chain", have: known, found: numbers.last ?? 0)
        }
        // Entries are never removed, and each is created after the one before: a list that lacks
        // one in the middle was made in the meantime, but reading has to find it.
        while let newest = numbers.last, state.count < newest {
            let number = state.count + 1
            guard
                let bytes = try await store.read(SyncNames.chainEntry(group: id, number: number))
            else {
                throw SyncError.storeHasForgotten(
                    member: "chain", have: newest, found: number - 1)
            }
            // Another call may have applied it during the reading.
            if number == state.count + 1 { try Self.take(bytes, id, &state, &entries) }
        }
    }

    private static func take(
        _ bytes: Data, _ id: Data, _ state: inout MembershipState, _ entries: inout [Data]
    ) throws {
        let name = SyncNames.chainEntry(group: id, number: state.count + 1)
        // Of an object that cannot be an entry only the hash is kept, whatever its size.
        let isHash = bytes.count == MembershipState.hashCount && entries.count > 0
        let isPossible = (ChainEntry.signatureCount...ChainEntry.longest).contains(bytes.count)
        let kept = isPossible || isHash ? bytes : MembershipState.hash(of: bytes)
        do {
            try state.follow(kept)
            entries.append(kept)
        } catch let error as CBORError {
            throw SyncError.damaged(name, error.reason)
        } catch let refusal as MembershipState.Refusal {
            throw SyncError.damaged(name, refusal.reason)
        } catch is NewerFormat {
            throw SyncError.newerFormat(name)
        }
        guard state.group == id else { throw SyncError.damaged(name, "it is of another group") }
    }

    /// What the next entry does; nil if there is no need for it any more.
    private typealias MakingAction = @Sendable (isolated SyncGroup) throws -> ChainEntry.Action?

    // MARK: - Changing

    /// Creates the next entry; if another member was faster, builds it again after that one.
    private func append(_ makeAction: MakingAction) async throws {
        for _ in 0..<100 {
            guard let action = try makeAction(self) else { return }
            let entry = ChainEntry(
                group: id, number: state.count + 1, previous: state.last, author: memberKeys.id,
                action: action)
            let bytes = try entry.signed(by: memberKeys)
            // What others would refuse is not stored.
            var next = state
            do {
                try next.apply(bytes)
            } catch let refusal as MembershipState.Refusal {
                guard state.isActive(memberKeys.id) || state.count == 0 else {
                    throw SyncError.notAMember
                }
                throw SyncError.notAllowed(refusal.reason)
            }
            let name = SyncNames.chainEntry(group: id, number: entry.number)
            var isOurs = try await store.create(name, bytes)
            // The answer to an earlier try may have been lost.
            if !isOurs { isOurs = try await store.read(name) == bytes }
            if isOurs {
                if state.count < entry.number { try Self.take(bytes, id, &state, &entries) }
                return
            }
            try await refresh()
        }
        throw SyncError.store(
            code: "busy", message: "other members change the group all the time",
            isTransient: true)
    }

    /// Adds an invitation; the devices that it adds have its role.
    package func invite(
        _ kind: SyncInvitation.Kind, role: ChainEntry.Role = .admin
    ) async throws -> SyncInvitation {
        let invitation = SyncInvitation(.random())
        let guest = MemberKeys(of: invitation.secret)
        try await refresh()
        try await append { group in
            let epoch = try group.currentKey()
            let (number, previous) = (group.state.count + 1, group.state.last)
            var record = try group.record(guest, "", role, epoch)
            record.kind = kind == .once ? .invitation : .recovery
            record.mac = invitation.mac(group.id, number, previous)
            return .add(
                record, key: try epoch.wrapped(for: guest.id, record.keys, group: group.id))
        }
        return invitation
    }

    /// Removes another member, whose batches count up to `head`, and gives the others a new key.
    package func remove(_ head: LogHead) async throws {
        try await refresh()
        try await append { group in
            guard group.state.member(head.member) == nil || group.state.isActive(head.member) else {
                return nil
            }
            return .remove(head, try group.newKeys(without: head.member))
        }
    }

    /// Gives all members a new key.
    package func rotate() async throws {
        try await refresh()
        try await append { group in .rotate(try group.newKeys(without: nil)) }
    }

    /// Gives all members a new key if someone who is no member knows the present one.
    package func rotateIfNeeded() async throws {
        try await append { group in
            guard group.state.needsRotation, group.state.isActive(group.memberKeys.id) else {
                return nil
            }
            return .rotate(try group.newKeys(without: nil))
        }
    }

    /// Ends this device's membership; its batches count up to `head`.
    package func leave(_ head: LogHead) async throws {
        try await refresh()
        try await append { _ in .leave(head) }
    }

    /// Adds the member that this copy of a file goes on as.
    package func fork(after head: LogHead) async throws -> MemberID {
        try await refresh()
        let keys = MemberKeys.random()
        try keys.save(as: MemberKeys.name(id, keys.id), in: keyStore)
        let (old, name) = (member, try name(of: member))
        try await append { group in
            let epoch = try group.currentKey()
            let role = group.state.member(old)?.role ?? .writer
            let device = try group.record(keys, name, role, epoch)
            return .fork(
                device, key: try epoch.wrapped(for: device.id, device.keys, group: group.id),
                after: head)
        }
        (member, memberKeys) = (keys.id, keys)
        return keys.id
    }

    private func record(
        _ keys: MemberKeys, _ name: String, _ role: ChainEntry.Role, _ epoch: EpochKey
    ) throws -> ChainEntry.Member {
        ChainEntry.Member(
            id: keys.id, keys: try keys.publicKeys, kind: .device, role: role,
            sealedName: try epoch.sealedName(String(name.prefix(80)), of: keys.id),
            nameEpoch: epoch.number, mac: Data())
    }

    private func newKeys(without removed: MemberID?) throws -> ChainEntry.EpochKeys {
        let (old, new) = (try currentKey(), try EpochKey.random(state.epoch + 1))
        // A member with a key that HPKE refuses gets nothing: it must not keep the others from
        // changing theirs.
        let members = state.active(without: removed)
        let wrapped = try members.map { member in
            do {
                return (member.id, try new.wrapped(for: member.id, member.keys, group: id))
            } catch let error as SyncError {
                throw error
            } catch {
                return (member.id, Data())
            }
        }
        return ChainEntry.EpochKeys(
            number: new.number, wrapped: Dictionary(uniqueKeysWithValues: wrapped),
            previous: try new.sealing(old))
    }

    // MARK: - Keys

    private func currentKey() throws -> EpochKey {
        guard let key = try epochKey(state.epoch) else { throw SyncError.notAMember }
        return key
    }

    /// The key of an epoch; nil if this member never had it.
    private func epochKey(_ number: UInt64) throws -> EpochKey? {
        if let key = epochKeys[number] { return key }
        guard let wrapped = state.wrappedKey(for: memberKeys.id), wrapped.epoch >= number,
            number > 0
        else { return nil }
        if epochKeys[wrapped.epoch] == nil {
            epochKeys[wrapped.epoch] = try EpochKey(
                wrapped.epoch, unwrapping: wrapped.bytes, memberKeys, group: id)
        }
        guard var key = epochKeys[wrapped.epoch] else { return nil }
        while key.number > number {
            guard let sealed = state.previousKeys[key.number], let previous = key.previous(sealed)
            else { return nil }
            key = previous
            epochKeys[key.number] = key
        }
        return key
    }

    /// What is needed to write and read batches, as of now.
    ///
    /// - Throws: ``SyncError/notAMember`` if this member was removed.
    package func keys() throws -> GroupKeys {
        guard state.isActive(member) else { throw SyncError.notAMember }
        var keys: [UInt64: DataEncryptionKey] = [:]
        for number in 1...max(1, state.epoch) {
            if let key = try epochKey(number) { keys[number] = key.key }
        }
        return GroupKeys(
            group: id, own: memberKeys, state: state, keys: keys)
    }

    /// The name of a member's device.
    package func name(of member: MemberID) throws -> String {
        guard let record = state.member(member) else { return "" }
        return try epochKey(record.nameEpoch)?.name(record.sealedName, of: member) ?? ""
    }
}
