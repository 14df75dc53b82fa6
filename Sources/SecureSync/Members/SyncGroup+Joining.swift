internal import Foundation
internal import ObjectStores
package import SecureKeys
internal import SecureStoragePlatform

// Founding and joining.
extension SyncGroup {
    /// Founds a group with this device as its first member.
    package static func create(
        in store: any ObjectStore, keyStore: any KeyStore, deviceName: String
    ) async throws -> SyncGroup {
        let id = Data(RandomBytes.make(16))
        let keys = MemberKeys.random()
        try await store.probe(under: SyncNames.all(group: id))
        try keys.save(as: MemberKeys.name(id, keys.id), in: keyStore)
        let group = SyncGroup(id, keys, in: store, keyStore: keyStore)
        try await group.found(deviceName)
        return group
    }

    private func found(_ deviceName: String) async throws {
        let epoch = try EpochKey.random(1)
        let founder = try record(memberKeys, deviceName, .admin, epoch)
        let keys = try KeyMaking(
            group: id, first: epoch, [founder], by: founder.keys
        ).keys()
        try await append { _ in .found(founder, keys) }
    }

    /// Joins the group of an invitation; a reader cannot bring rows along.
    package static func join(
        _ invitation: SyncInvitation, in store: any ObjectStore, keyStore: any KeyStore,
        deviceName: String, bringsRows: Bool = false
    ) async throws -> SyncGroup {
        let guest = MemberKeys(of: invitation.secret)
        guard let id = try await find(guest.id, of: invitation, in: store) else {
            throw SyncError.invitationNotAccepted("the store has no group that made it")
        }
        var group = SyncGroup(id, guest, in: store, keyStore: keyStore)
        try await group.refresh()
        guard await group.isMadeHere(invitation, guest.id) else {
            throw SyncError.invitationNotAccepted("the store shows another group than its own")
        }
        // That group's admins can be trusted to name the group that follows it.
        while let next = try await group.successor() {
            do {
                group = try await group.following(next, as: [guest.id])
            } catch SyncError.notAMember {
                throw SyncError.invitationNotAccepted(
                    "the group was reset since; ask for another one")
            }
        }
        try await group.accept(invitation, deviceName, bringsRows: bringsRows)
        return group
    }

    /// Searches a store's groups for the one with a member.
    private static func find(
        _ guest: MemberID, of invitation: SyncInvitation, in store: any ObjectStore
    ) async throws -> Data? {
        var last: String?
        while let next = try await store.list("", after: last).objects.first {
            guard let group = SyncNames.group(of: next.name) else {
                last = next.name
                continue
            }
            // It is usually one of the last.
            for entry in try await store.listAll(SyncNames.chain(group: group)).reversed() {
                guard let bytes = try await store.read(entry.name),
                    let entry = try? ChainEntry(reading: bytes), entry.group == group,
                    case .add(let added, _) = entry.action, added.id == guest,
                    invitation.hasMade(added.mac, group, entry.number, entry.previous)
                else { continue }
                return group
            }
            // The first name after all of the group's.
            last = SyncNames.end(ofGroup: group)
        }
        return nil
    }

    static let bringsNoRows = SyncError.notAllowed(
        "the code is one for reading, and this file's rows could not be sent; join with "
            + "localRows: .discard, or ask for another code")

    private func accept(
        _ invitation: SyncInvitation, _ deviceName: String, bringsRows: Bool
    ) async throws {
        let guest = memberKeys
        if bringsRows, state.member(guest.id)?.role == .reader {
            throw Self.bringsNoRows
        }
        // Kept until the file records its membership: if the process is killed while joining, it
        // continues as the same member.
        let place = "securestorage-sync-joining-\(guest.id)"
        var keys: MemberKeys
        do {
            keys = try MemberKeys(named: place, in: keyStore)
        } catch KeyStoreError.notFound {
            keys = .random()
            try keys.save(as: place, in: keyStore)
        }
        if state.member(keys.id) != nil, !state.isActive(keys.id) {
            // That member was removed before its file knew about it.
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
                    try group.ownKeys(
                        for: record.id, record.keys, invited.role, by: invited.keys))
            }
        }
        (member, memberKeys) = (keys.id, keys)
    }

    /// Forgets the temporary keys, which now belong to this member: joining again makes new ones.
    package func endJoining(with invitation: SyncInvitation) throws {
        let guest = MemberKeys(of: invitation.secret)
        try keyStore.remove("securestorage-sync-joining-\(guest.id)")
    }

    /// Whether the chain up to the invitation is the one that its maker saw.
    ///
    /// The check uses the place where the chain really added the member, not the claims in an
    /// object.
    private func isMadeHere(_ invitation: SyncInvitation, _ guest: MemberID) -> Bool {
        guard let member = state.member(guest), let origin = state.origin(of: guest) else {
            return false
        }
        return invitation.hasMade(member.mac, id, origin.number, origin.previous)
    }
}
