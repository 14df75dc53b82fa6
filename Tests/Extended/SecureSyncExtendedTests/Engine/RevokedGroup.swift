import Crypto
import Foundation
import SecureStorage
import TestSupport

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Three devices of a group, of which one is to be removed.
struct RevokedGroup {
    let objects = SimulatedObjects()
    let anna: SimulatedDevice
    let cleo: SimulatedDevice
    let ruth: SimulatedDevice

    /// With `keepsObjects`, batches in a snapshot stay in the store for a week.
    init(keepsObjects: Bool = false) async throws {
        var policy = SimulatedDevice.policy
        if keepsObjects { policy.retention = SnapshotPolicy().retention }
        let devices = try await SimulatedDevice.group(
            ["anna", "cleo", "ruth"], in: objects, policy: policy)
        (anna, cleo, ruth) = (devices[0], devices[1], devices[2])
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }
}

/// What tests of such a group do.
protocol InRevokedGroup {
    var group: RevokedGroup { get }
}

extension InRevokedGroup {
    var objects: SimulatedObjects { group.objects }
    var anna: SimulatedDevice { group.anna }
    var cleo: SimulatedDevice { group.cleo }
    var ruth: SimulatedDevice { group.ruth }

    func settle(_ devices: [SimulatedDevice]) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
    }

    func write(_ key: String, by device: SimulatedDevice) async throws {
        try await device.write("INSERT INTO parent VALUES ('\(key)', '\(device.name)', NULL)")
    }

    func parents(_ device: SimulatedDevice) throws -> [String?] {
        try device.queue.read { try $0.strings("SELECT id FROM parent ORDER BY id") }
    }

    /// The group as a device knows it now.
    func keys(of device: SimulatedDevice) async throws -> GroupKeys {
        let chain = objects.names.filter { $0.dropFirst(32).hasPrefix("/m/") }
        return try await SyncGroup(
            resuming: chain.compactMap { objects.read($0) },
            as: AdversaryGroup.id(of: device), in: device.store, keyStore: device.keyStore
        ).keys()
    }

    /// Removes Ruth.
    ///
    /// - Returns: The name of the entry.
    func removeRuth() async throws -> String {
        let member = try require(await anna.engine.members().first { $0.name == "ruth" })
        try await anna.engine.remove(member)
        return try require(objects.history.last { $0.dropFirst(32).hasPrefix("/m/") })
    }

    /// Seals a batch of Ruth's.
    func seal(
        _ key: String, _ keys: GroupKeys, number: UInt64, after previous: Data,
        positions: [BatchPosition] = []
    ) throws -> SealedBatch {
        let time = UInt64(Date().timeIntervalSince1970 * 1000)
        let timestamp = Timestamp(time: Timestamp.time(milliseconds: time), member: keys.member)
        let row = RowChange(
            table: "parent", key: [.text(key)],
            incarnation: .init(timestamp: timestamp, isAlive: true),
            columnGroups: [
                .init(columns: ["name"], values: [.text("ruth")], timestamp: timestamp),
                .init(columns: ["code"], values: [.null], timestamp: timestamp),
            ])
        return try SealedBatch.seal(
            BatchBody(time: time, schema: 0, positions: positions, changes: [row], isLast: true),
            BatchHeader(
                group: keys.group, member: keys.member, number: number,
                epoch: keys.currentEpoch, previous: previous, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
    }

    func last(of keys: GroupKeys) throws -> (name: String, batch: SealedBatch) {
        let log = SyncNames.log(group: keys.group, member: keys.member)
        let name = try require(objects.names.last { $0.hasPrefix(log) })
        return (name, try SealedBatch(reading: try require(objects.read(name))))
    }

    /// A snapshot by Ruth that follows the newest one, as a member may make it, or not.
    func sendSnapshot(
        by known: GroupKeys? = nil, _ change: (inout SnapshotManifest) -> Void = { _ in }
    ) async throws -> String {
        let keys = if let known { known } else { try await keys(of: ruth) }
        let last = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        let newest = try SealedObject(reading: try require(objects.read(last)), .snapshot)
        let number = newest.header.number
        var manifest = try SnapshotManifest(
            decoding: newest.open(key: keys.key(ofEpoch: newest.header.epoch)), number: number)
        manifest.declaration.number += 1
        change(&manifest)
        let next = try SealedObject.seal(
            manifest.encoded(),
            BatchHeader(
                .snapshot, group: keys.group, member: keys.member, number: number + 1,
                epoch: keys.currentEpoch, previous: newest.hash, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
        let name = SyncNames.snapshot(group: keys.group, number: number + 1)
        check(objects.create(name, next.bytes))
        return name
    }

    /// Creates the next entry of the chain.
    func append(_ action: ChainEntry.Action, by device: SimulatedDevice) async throws {
        let id = try await AdversaryGroup.id(of: device)
        let chain = objects.names.filter { $0.dropFirst(32).hasPrefix("/m/") }
        var state = MembershipState()
        for name in chain { try state.follow(try require(objects.read(name))) }
        let entry = ChainEntry(
            group: state.group, number: state.count + 1, previous: state.last, author: id, time: 1,
            action: action)
        let keys = try MemberKeys(
            named: MemberKeys.name(state.group, id), in: device.keyStore)
        check(
            objects.create(
                SyncNames.chainEntry(group: state.group, number: entry.number),
                try entry.signed(by: keys)))
    }
}
