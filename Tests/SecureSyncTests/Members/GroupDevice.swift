import Foundation
@testable import ObjectStores
import SecureKeys

@testable import SecureSync

/// A device: its group, and the keys that it keeps.
struct GroupDevice {
    let group: SyncGroup
    let keyStore: InMemoryKeyStore

    static func founder(_ store: any ObjectStore) async throws -> GroupDevice {
        let keys = InMemoryKeyStore()
        return GroupDevice(
            group: try await SyncGroup.create(
                in: store, keyStore: keys, deviceName: "Anna's phone"), keyStore: keys)
    }

    /// Another device that joins by an invitation of this one.
    func inviting(
        _ name: String, _ store: any ObjectStore, role: ChainEntry.Role = .admin
    ) async throws -> GroupDevice {
        try await .joining(try await group.invite(.once, role: role), name, store)
    }

    static func joining(
        _ invitation: SyncInvitation, _ name: String, _ store: any ObjectStore,
        keyStore: InMemoryKeyStore = InMemoryKeyStore()
    ) async throws -> GroupDevice {
        let group = try await SyncGroup.join(
            invitation, in: store, keyStore: keyStore, deviceName: name)
        try await group.endJoining(with: invitation)
        return GroupDevice(group: group, keyStore: keyStore)
    }

    var member: MemberID { get async { await group.member } }

    /// The text under the current key, and that key's epoch.
    func sealed(_ text: String) async throws -> (UInt64, Data) {
        let keys = try await group.keys()
        let sealed = try keys.key(ofEpoch: keys.currentEpoch).seal(
            Data(text.utf8), table: "t", column: "c", row: .text("1"))
        return (keys.currentEpoch, sealed)
    }

    /// Throws if this device does not have the key of that epoch.
    func opened(_ sealed: (UInt64, Data)) async throws -> String {
        let key = try await group.keys().key(ofEpoch: sealed.0)
        let bytes = try key.open(sealed.1, table: "t", column: "c", row: .text("1"))
        return String(decoding: bytes, as: UTF8.self)
    }
}
