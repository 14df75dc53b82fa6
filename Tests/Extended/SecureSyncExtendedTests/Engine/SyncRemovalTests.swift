import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

@testable import SyncSimulator

/// What a removed member can still do with everything it had: its keys, its file, and the
/// credentials of the store.
struct SyncRemovalTests {
    private let group: AdversaryGroup

    init() async throws { group = try await AdversaryGroup.shared }

    /// The group as the removed member knew it last.
    private func lastKeys() async throws -> GroupKeys {
        let before = group.ownNames.prefix { !isRemoval($0) }
        return try await group.chain(of: group.ruth, group.ruthID, in: before).keys()
    }

    private func isRemoval(_ name: String) -> Bool { name == group.objects.history[group.removal] }

    /// Whether any of the keys opens an object.
    private func opens(_ name: String, _ keys: GroupKeys) throws -> Bool {
        let bytes = try require(group.objects.read(name))
        for epoch in 1...keys.currentEpoch {
            let key = try keys.key(ofEpoch: epoch)
            if (try? SealedBatch(reading: bytes).open(key: key)) != nil { return true }
            if (try? SealedObject(reading: bytes, .snapshot).open(key: key)) != nil { return true }
        }
        return false
    }

    @Test func `its keys open what was written before its removal, and nothing after it`()
        async throws
    {
        let keys = try await lastKeys()
        check(keys.currentEpoch >= 2)
        let all = group.ownNames.filter { !$0.dropFirst(32).hasPrefix("/m/") }
        let border = try require(group.ownNames.firstIndex(where: isRemoval))
        var (before, after, parts) = (0, 0, 0)
        var readable: [SnapshotManifest] = []
        for name in all {
            let isLate = try require(group.ownNames.firstIndex(of: name)) > border
            guard !name.dropFirst(32).hasPrefix("/p/") else {
                // Rows have no key of their own: the manifest names it, and the frames need it.
                if isLate { parts += 1 }
                continue
            }
            try check(opens(name, keys) != isLate, "\(name.dropFirst(32))")
            if isLate { after += 1 } else { before += 1 }
            let object = try? SealedObject(
                reading: try require(group.objects.read(name)), .snapshot)
            if let object, isLate {
                let own = try await group.chain(
                    of: group.anna, AdversaryGroup.id(of: group.anna), in: group.ownNames
                ).keys()
                let content = try object.open(key: own.key(ofEpoch: object.header.epoch))
                readable.append(
                    try SnapshotManifest(decoding: content, number: object.header.number))
            }
        }
        check(before > 5 && after > 10 && parts > 0)
        for rows in readable.map(\.rows) {
            for (index, _) in rows.parts.enumerated() {
                let name = SyncNames.snapshotPart(
                    group: keys.group, rows: rows.name, part: UInt64(index + 1))
                let created = try require(group.ownNames.firstIndex(of: name))
                guard created > border else { continue }
                for epoch in 1...keys.currentEpoch {
                    #expect(throws: (any Error).self) {
                        try SnapshotPart.read(
                            try require(group.objects.read(name)), number: index + 1, of: rows,
                            group: keys.group, key: try keys.key(ofEpoch: epoch)
                        ) { _ in Issue.record("\(name) is read") }
                    }
                }
            }
        }
    }

    @Test func `the chain after its removal has no key for it, and no name that it can read`()
        async throws
    {
        let known = try group.chain(of: group.ruth, group.ruthID, in: group.ownNames)
        await #expect(throws: SyncError.notAMember) { try await known.keys() }
        let state = await known.state
        check(state.removed[group.ruthID] != nil)
        let added = try await AdversaryGroup.id(of: group.dora)
        try await check(known.name(of: added), equals: "")
        let anna = try require(state.everyone.first?.id)
        try await check(known.name(of: anna), equals: group.anna.name)
        let ruth = try SimulatedDevice(
            copyOf: group.ruth, "ruth", in: SimulatedObjects(group.objects.all))
        await #expect(throws: SyncError.notAMember) { try await ruth.engine.syncOnce() }
        try check(!ruth.rows().contains { $0.contains("after") })
    }

    @Test func `what it writes without knowing of its removal changes nothing on any member`()
        async throws
    {
        let objects = SimulatedObjects(group.objects.all)
        let ruth = try SimulatedDevice(copyOf: group.ruth, "ruth", in: objects)
        // It is shown the store as it was before, and its engine continues as that of a member.
        let border = try require(group.ownNames.firstIndex(where: isRemoval))
        ruth.store.show(
            Dictionary(uniqueKeysWithValues: group.ownNames[border...].map { ($0, Data?.none) }))
        for number in 0..<12 {
            try await ruth.queue.write {
                try $0.executeStatements(
                    "REPLACE INTO setting VALUES ('late', 0, \(number), 0); DELETE FROM parent;")
            }
            _ = try? await ruth.engine.syncOnce()
        }
        let late = objects.all.keys.filter { group.objects.read($0) == nil }
        check(late.contains { $0.contains("/d/\(group.ruthID)/") })
        try await expectUnchanged(objects)
    }

    @Test func `batches and snapshots that it signs change nothing on any member`() async throws {
        let objects = SimulatedObjects(group.objects.all)
        let keys = try await lastKeys()
        let log = group.names("/d/\(group.ruthID)", group.ownNames)
        let last = try SealedBatch(reading: try require(log.last.flatMap(objects.read)))
        let forged = RowChange(
            table: "parent", key: [.text("key-canary")],
            incarnation: .init(
                timestamp: Timestamp(time: Timestamp.greatestClock, member: group.ruthID),
                isAlive: false))
        var previous = last.hash
        for number in (last.header.number + 1)...(last.header.number + 3) {
            let batch = try SealedBatch.seal(
                BatchBody(
                    time: Timestamp.greatestClock >> 16, schema: 0, positions: [],
                    changes: [forged],
                    isLast: true),
                BatchHeader(
                    group: keys.group, member: group.ruthID, number: number,
                    epoch: keys.currentEpoch, previous: previous, chain: keys.position),
                key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
            previous = batch.hash
            let name = SyncNames.batch(
                group: keys.group, member: group.ruthID, number: number)
            check(objects.create(name, batch.bytes))
        }
        // A snapshot without rows, of a group that has no other member.
        let newest = try require(group.names("/s/", group.ownNames).last)
        let before = try SealedObject(reading: try require(objects.read(newest)), .snapshot)
        for number in (before.header.number + 1)...(before.header.number + 2) {
            var declaration = Declaration.first(of: group.ruthID)
            declaration.number = number
            let manifest = SnapshotManifest(
                time: 1, schema: 0, declaration: declaration,
                logs: [
                    group.ruthID: .init(
                        hash: Data(count: 32), heard: 0, lowerBounds: [], published: [:])
                ],
                rows: .init(name: Data(count: 16), epoch: 1, parts: []))
            let object = try SealedObject.seal(
                manifest.encoded(),
                BatchHeader(
                    .snapshot, group: keys.group, member: group.ruthID, number: number,
                    epoch: keys.currentEpoch, previous: before.hash, chain: keys.position),
                key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
            let name = SyncNames.snapshot(group: keys.group, number: number)
            check(objects.create(name, object.bytes))
        }
        try await expectUnchanged(objects)
    }

    /// All members end with the rows that they have without the removed one, and continue.
    private func expectUnchanged(_ objects: SimulatedObjects) async throws {
        let rows = try await Self.settled(group, objects)
        let undisturbed = try await Self.undisturbed.value
        check(rows, equals: undisturbed)
    }

    private static let undisturbed = Task {
        let group = try await AdversaryGroup.shared
        return try await settled(group, SimulatedObjects(group.objects.all))
    }

    /// Their rows after some more work, which are the same on all.
    private static func settled(
        _ group: AdversaryGroup, _ objects: SimulatedObjects
    ) async throws -> [String] {
        let devices = try [group.anna, group.ben, group.cleo, group.dora].map {
            try SimulatedDevice(copyOf: $0, $0.name, in: objects)
        }
        for number in 0..<8 {
            let device = devices[number % devices.count]
            try await device.queue.write {
                try $0.executeStatements(
                    "REPLACE INTO setting VALUES ('go on \(number)', 0, \(number), 0)")
            }
            try await device.engine.syncOnce()
        }
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        let rows = try devices.map { try $0.rows() }
        for other in rows.dropFirst() {
            check(other, equals: rows[0])
        }
        return rows[0]
    }
}
