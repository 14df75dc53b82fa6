import Crypto
import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Snapshots that a member makes, or a removed one, and that say what is not so.
struct SyncFalseSnapshotTests: InRevokedGroup {
    let group: RevokedGroup

    init() async throws { group = try await RevokedGroup() }

    /// A snapshot without rows, in which the group has no other member.
    private func forgedSnapshot(
        _ number: UInt64, _ keys: GroupKeys, after previous: Data
    ) throws -> Data {
        var declaration = Declaration.first(of: keys.member)
        declaration.number = number
        let manifest = SnapshotManifest(
            time: 1, schema: 0, declaration: declaration,
            logs: [
                keys.member: .init(hash: Data(count: 32), heard: 0, lowerBounds: [], published: [:])
            ],
            rows: .init(name: Data(count: 16), epoch: 1, parts: []))
        return try SealedObject.seal(
            manifest.encoded(),
            BatchHeader(
                .snapshot, group: keys.group, member: keys.member, number: number,
                epoch: keys.currentEpoch, previous: previous, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign
        ).bytes
    }

    private enum Poison: CaseIterable {
        case stablePointTime, lowerPositions, higherPositions, closesOthers, opensAnother,
            forgetsLog
    }

    private func poison(_ manifest: inout SnapshotManifest, _ kind: Poison, _ ruth: MemberID) {
        let others = manifest.declaration.logs.keys.filter { $0 != ruth }.sorted()
        switch kind {
        case .stablePointTime: manifest.declaration.stablePoint.time = Timestamp.greatestTime >> 16
        case .lowerPositions: manifest.declaration.positions = [:]
        case .higherPositions:
            manifest.declaration.positions[others[0]] = 1 << 40
            manifest.logs[others[0]]?.hash = Data(repeating: 1, count: 32)
        case .closesOthers:
            for member in others {
                manifest.declaration.logs[member] = nil
                manifest.declaration.closed[member] = 0
            }
        case .opensAnother:
            let new = MemberID.random()
            manifest.declaration.logs[new] = .init(began: manifest.declaration.number)
            manifest.logs[new] = .init(
                hash: Data(count: 32), heard: 0, lowerBounds: [], published: [:])
        case .forgetsLog:
            manifest.declaration.logs[others[0]] = nil
            manifest.logs[others[0]] = nil
        }
    }

    @Test(arguments: 0..<6)
    func `a snapshot that says what is not so is adopted by nobody, and its writer is removed`(
        _ number: Int
    ) async throws {
        let kind = Poison.allCases[number]
        for round in 0..<2 {
            for device in [anna, cleo, ruth] {
                try await write("\(device.name) \(round)", by: device)
            }
            try await settle([anna, cleo, ruth])
        }
        let id = try await AdversaryGroup.id(of: ruth)
        let name = try await sendSnapshot { poison(&$0, kind, id) }
        try await write("after", by: cleo)
        for device in [cleo, anna] {
            do {
                try await device.engine.syncOnce()
                // Anything but a manifest is invalid, and the member whose log it names may take
                // itself for a copy.
                check(kind == .lowerPositions || kind == .higherPositions, "\(kind)")
            } catch SyncError.damaged(name, _) {
            } catch SyncError.withheld(.member, _) {}
        }
        // The logs continue.
        try check(parents(anna).contains("after"))
        let stablePoint = try anna.hasStablePoint()
        _ = try await removeRuth()
        try await settle([anna, cleo])
        try check(anna.hasStablePoint(), equals: stablePoint)
        try await SimulatedDevice.writeSnapshots(anna, cleo)
        try await settle([anna, cleo])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(cleo)
        for device in [cleo, guest] { try check(device.rows(), equals: anna.rows()) }
    }

    private enum Rows: CaseIterable { case missing, changed, added, timestamped }

    /// The rows that Ruth says the group has.
    private func rows(_ kind: Rows, _ keys: GroupKeys) async throws -> SnapshotManifest.Rows {
        var parts: [Data] = []
        let name = SHA256.hash(data: Data("\(kind)".utf8)).prefix(16)
        var writer = SnapshotPart.Writer(
            group: keys.group,
            rows: .init(name: Data(name), epoch: keys.currentEpoch, parts: []),
            key: try keys.key(ofEpoch: keys.currentEpoch), time: 1, schema: 0
        ) { parts.append($0) }
        let capture = Capture(SimulatedDevice.tables(.first))
        var all = try await ruth.queue.read { db in
            var all: [RowChange] = []
            try capture.eachRow(in: db) { all.append($0) }
            return all
        }
        let index = try require(all.firstIndex { $0.table == "parent" && $0.incarnation.isAlive })
        switch kind {
        case .missing: all.remove(at: index)
        case .changed: all[index].columnGroups[0].values[0] = .text("false")
        case .added:
            all.append(all[index])
            all[all.count - 1].key = [.text("never")]
        case .timestamped: all[index].columnGroups[0].timestamp.time += 1 << 20
        }
        for change in all { try writer.add(change) }
        try writer.finish()
        for (number, part) in parts.enumerated() {
            let name = SyncNames.snapshotPart(
                group: keys.group, rows: Data(name), part: UInt64(number + 1))
            check(objects.create(name, part))
        }
        return writer.rows
    }

    @Test(arguments: 0..<4)
    func `rows of a snapshot that are not the group's are found by each member, with its writer`(
        _ number: Int
    ) async throws {
        for device in [anna, cleo, ruth] { try await write(device.name, by: device) }
        try await settle([anna, cleo, ruth])
        for device in [anna, cleo] { try await check(device.engine.verify().problems, equals: []) }
        let forged = try await rows(Rows.allCases[number], try await keys(of: ruth))
        let name = try await sendSnapshot { $0.rows = forged }
        try await settle([anna, cleo])
        for device in [anna, cleo] {
            let problems = try await device.engine.verify().problems
            guard case .damaged(name, let reason)? = problems.first else {
                Issue.record("\(problems)")
                return
            }
            check(problems.count, equals: 1)
            check(reason.contains("1 of its rows, one of them in \"parent\""), "\(reason)")
            check(reason.contains("\"ruth\" has made it"))
        }
        // With the rows of a device that has the right ones, the group continues.
        _ = try await removeRuth()
        try await anna.engine.reset()
        try await settle([anna, cleo])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(cleo)
        for device in [cleo, guest] {
            try check(device.rows(), equals: anna.rows())
            try await check(device.engine.verify().problems, equals: [])
        }
    }

    @Test func `a snapshot that it puts in the place of the newest one is loaded by nobody`()
        async throws
    {
        let keys = try await keys(of: ruth)
        try await write("first", by: anna)
        try await settle([anna, cleo])
        _ = try await removeRuth()
        let name = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        let genuine = try require(objects.read(name))
        let header = try BatchHeader(reading: genuine, .snapshot)
        objects.set(name, try forgedSnapshot(header.number, keys, after: header.previous))
        let guest = try SimulatedDevice("dora", objects)
        try await guest.engine.join(
            try await anna.engine.invite(.once, role: .admin), deviceName: "dora", localRows: .keep)
        await #expect(throws: SyncError.self) { try await guest.engine.syncOnce() }
        try await settle([anna, cleo])
        for device in [anna, cleo] { try check(parents(device), equals: ["first"]) }
        objects.set(name, genuine)
        try await settle([guest, anna, cleo])
        for device in [guest, anna, cleo] { try check(parents(device), equals: ["first"]) }
    }

    @Test func `a snapshot that it makes after its removal is adopted by nobody`() async throws {
        let keys = try await keys(of: ruth)
        _ = try await removeRuth()
        let name = try require(objects.names.last { $0.dropFirst(32).hasPrefix("/s/") })
        let newest = try require(objects.read(name))
        let header = try BatchHeader(reading: newest, .snapshot)
        let next = SyncNames.snapshot(group: keys.group, number: header.number + 1)
        check(
            objects.create(
                next,
                try forgedSnapshot(
                    header.number + 1, keys, after: Data(SHA256.hash(data: newest)))))
        try await write("by anna", by: anna)
        try await settle([anna, cleo])
        let guest = try SimulatedDevice("dora", objects)
        try await guest.join(cleo)
        for device in [anna, cleo, guest] { try check(parents(device), equals: ["by anna"]) }
    }
}
