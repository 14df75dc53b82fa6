import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Devices that only read the group's rows.
struct SyncReaderTests {
    private let objects = SimulatedObjects()

    /// Anna, who is an admin, Ben, who writes too, and Rita, who reads.
    private func group() async throws -> (
        anna: SimulatedDevice, ben: SimulatedDevice, rita: SimulatedDevice
    ) {
        let devices = try await SimulatedDevice.group(["anna", "ben"], in: objects)
        try await devices[0].write("INSERT INTO parent VALUES ('p', 'anna', NULL)")
        try await devices[0].engine.syncOnce()
        let rita = try SimulatedDevice("rita", objects)
        try await rita.engine.join(
            try await devices[0].engine.invite(.once, role: .reader), deviceName: "rita",
            localRows: .keep)
        try await rita.engine.syncOnce()
        return (devices[0], devices[1], rita)
    }

    private func settle(_ devices: SimulatedDevice...) async throws {
        for _ in 0..<3 { for device in devices { try await device.engine.syncOnce() } }
        for device in devices { try check(device.rows(), equals: devices[0].rows()) }
    }

    private func refusal(_ device: SimulatedDevice, _ sql: String) throws -> String {
        do {
            try device.queue.write { try $0.executeUpdate(sql) }
            return ""
        } catch let error as SecureStorageError {
            return "\(error)"
        }
    }

    private func isReadOnly(_ device: SimulatedDevice) throws -> Bool {
        try device.queue.read { try SyncedTables.isReadOnly(in: $0) }
    }

    @Test func `a reader has the rows of the group, and SQLite refuses its writes to them`()
        async throws
    {
        let (anna, ben, rita) = try await group()
        try await ben.engine.syncOnce()
        try await ben.write("INSERT INTO child VALUES (x'01', 'p', 'text', 1, 1)")
        try await settle(anna, ben, rita)
        let rows = try rita.rows()
        for sql in [
            "INSERT INTO parent VALUES ('q', 'rita', NULL)", "UPDATE parent SET name = 'rita'",
            "DELETE FROM parent", "REPLACE INTO parent VALUES ('p', 'rita', NULL)",
            "INSERT INTO securestorage_kv_1 VALUES ('k', 1, 1, NULL)",
        ] where !sql.contains("kv") || rita.version == .second {
            try check(refusal(rita, sql).contains("reader of its group"))
        }
        try check(rita.rows(), equals: rows)
        try check(isReadOnly(rita))
        try check(!isReadOnly(anna))
        let member = try await rita.engine.members().first(where: \.isThisDevice)
        check(member?.role, equals: .reader)
        try check(await rita.engine.verify().isSound)
    }

    @Test func `a reader puts nothing into the store but its place in the chain`() async throws {
        let (anna, ben, rita) = try await group()
        let before = objects.history.count
        for number in 0..<20 {
            try await ben.write("REPLACE INTO setting VALUES ('ben', 0, \(number), 0)")
            try await ben.engine.syncOnce()
            let created = objects.history.count
            let report = try await rita.engine.syncOnce()
            check(report.sentBatches, equals: 0)
            check(!report.hasWrittenSnapshot)
            check(objects.history.count, equals: created)
        }
        check(objects.history.count > before)
        try await settle(anna, ben, rita)
        let id = try await AdversaryGroup.id(of: rita).description
        check(!objects.names.contains { $0.contains("/d/\(id)") })
    }

    @Test func `a reader that was away for longer than the logs go back continues from a snapshot`()
        async throws
    {
        let (anna, ben, rita) = try await group()
        try await SimulatedDevice.writeSnapshots(anna, ben)
        try await check(rita.engine.syncOnce().hasLoadedSnapshot)
        try await settle(anna, ben, rita)
        // The writers' stable point does not wait for it.
        try await SimulatedDevice.writeSnapshots(anna, ben)
        try await settle(anna, ben, rita)
    }

    @Test func `a reader brings no rows along`() async throws {
        let (anna, _, _) = try await group()
        let rita = try SimulatedDevice("rita2", objects)
        try await rita.write("INSERT INTO parent VALUES ('own', 'rita', NULL)")
        let code = try await anna.engine.invite(.once, role: .reader)
        await #expect(throws: SyncError.self) {
            try await rita.engine.join(code, deviceName: "rita2", localRows: .keep)
        }
        try check(!rita.engine.isMember)
        try await rita.engine.join(code, deviceName: "rita2", localRows: .discard)
        try await settle(anna, rita)
        try check(!rita.rows().contains { $0.contains("own") })
    }

    @Test func `a reader that leaves or was removed may write, and may join as a writer`()
        async throws
    {
        for isRemoved in [false, true] {
            let (anna, ben, rita) = try await group()
            if isRemoved {
                try await anna.engine.syncOnce()
                let member = try require(
                    await anna.engine.members().first { $0.name == "rita" })
                try await anna.engine.remove(member)
                await #expect(throws: SyncError.notAMember) { try await rita.engine.syncOnce() }
            }
            try await rita.engine.leave()
            try check(!rita.engine.isMember)
            try await rita.write("INSERT INTO parent VALUES ('own', 'rita', NULL)")
            try await rita.engine.join(
                try await anna.engine.invite(.once), deviceName: "rita", localRows: .keep)
            try await settle(anna, ben, rita)
            try check(anna.rows().contains { $0.contains("own") })
        }
    }

    @Test func `a copy of a reader reads too, and neither becomes another member`() async throws {
        let (anna, ben, rita) = try await group()
        let copy = try SimulatedDevice(copyOf: rita, "copy")
        try await ben.write("INSERT INTO parent VALUES ('b', 'ben', NULL)")
        try await settle(anna, ben, rita, copy)
        try await check(anna.engine.members().count, equals: 3)
    }

    @Test func `a reader follows a group that is reset, and one that is put back`() async throws {
        let (anna, ben, rita) = try await group()
        let old = objects.all
        try await ben.write("INSERT INTO parent VALUES ('b', 'ben', NULL)")
        try await settle(anna, ben, rita)
        try await anna.engine.reset()
        try await settle(anna, ben, rita)
        objects.putBack(old)
        try await anna.engine.reset()
        try await settle(anna, ben, rita)
        try check(rita.rows().contains { $0.contains("'b'") })
        try check(refusal(rita, "DELETE FROM parent").contains("reader of its group"))
    }

    @Test func `a reader takes back what a removed member has written since`() async throws {
        let (anna, ben, rita) = try await group()
        try await settle(anna, ben, rita)
        // Anna is not shown what Ben writes last.
        let known = objects.names
        try await ben.write("INSERT INTO parent VALUES ('late', 'ben', NULL)")
        try await ben.engine.syncOnce()
        let new = objects.names.filter { !known.contains($0) && $0.contains("/d/") }
        check(!new.isEmpty)
        anna.store.show(Dictionary(uniqueKeysWithValues: new.map { ($0, Data?.none) }))
        try await rita.engine.syncOnce()
        try check(rita.rows().contains { $0.contains("late") })
        let member = try require(await anna.engine.members().first { $0.name == "ben" })
        try await anna.engine.remove(member)
        try await settle(anna, rita)
        try check(!rita.rows().contains { $0.contains("late") })
    }

    @Test func `what a hostile reader signs counts for nobody`() async throws {
        let (anna, ben, rita) = try await group()
        try await settle(anna, ben, rita)
        let rows = try anna.rows()
        let chain = objects.names.filter { $0.contains("/m/") }
        let keys = try await SyncGroup(
            resuming: chain.compactMap { objects.read($0) }, as: AdversaryGroup.id(of: rita),
            in: rita.store, keyStore: rita.keyStore
        ).keys()
        // A snapshot that begins a log for it, and a batch in that.
        let snapshots = SnapshotStore(store: rita.store, keys: keys)
        let numbers = try await snapshots.numbers(after: 0)
        let newest = try require(await snapshots.newest(of: numbers))
        let number = (numbers.last ?? 0) + 1
        var before = newest
        before.manifest.declaration.number = number - 1
        let now = UInt64(Date().timeIntervalSince1970 * 1000)
        let next = try require(before.manifest.beginningLog(of: keys.member, at: now))
        check(try await snapshots.create(next, after: newest) != nil)
        let timestamp = Timestamp(time: Timestamp.time(milliseconds: now), member: keys.member)
        let row = RowChange(
            table: "parent", key: [.text("forged")],
            incarnation: .init(timestamp: timestamp, isAlive: true),
            columnGroups: [.init(columns: ["name"], values: [.text("rita")], timestamp: timestamp)])
        let batch = try SealedBatch.seal(
            BatchBody(time: now, schema: 0, positions: [], changes: [row], isLast: true),
            BatchHeader(
                group: keys.group, member: keys.member, number: 1, epoch: keys.currentEpoch,
                previous: Data(count: 32), chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
        let name = MemberLog(store: rita.store, keys: keys, member: keys.member).name(1)
        check(objects.create(name, batch.bytes))
        try await settle(anna, ben, rita)
        try check(anna.rows(), equals: rows)
        // Snapshots continue after the invalid one.
        try await SimulatedDevice.writeSnapshots(anna, ben)
        try await settle(anna, ben, rita)
        try await check(ben.engine.verify().isSound)
    }
}
