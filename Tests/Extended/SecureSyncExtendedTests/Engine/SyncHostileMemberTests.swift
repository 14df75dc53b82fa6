import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

@testable import SyncSimulator
@testable import SecureSyncTests

/// A member that has all keys, and signs what the library would never write.
struct SyncHostileMemberTests {
    private let group: AdversaryGroup
    private let objects: SimulatedObjects
    private let anna: SimulatedDevice
    private let cleo: SimulatedDevice

    init() async throws {
        group = try await AdversaryGroup.shared
        objects = SimulatedObjects(group.objects.all)
        anna = try SimulatedDevice(copyOf: group.anna, group.anna.name, in: objects)
        cleo = try SimulatedDevice(copyOf: group.cleo, group.cleo.name, in: objects)
    }

    /// Creates the next batch of Ben's log.
    private func send(
        _ changes: [RowChange], positions: [BatchPosition] = []
    ) async throws -> String {
        let member = try await AdversaryGroup.id(of: group.ben)
        let keys = try await group.chain(of: group.ben, member, in: group.ownNames).keys()
        let log = SyncNames.log(group: keys.group, member: member)
        let last = try SealedBatch(
            reading: try require(
                objects.names.last { $0.hasPrefix(log) }.flatMap { objects.read($0) }))
        let batch = try SealedBatch.seal(
            BatchBody(
                time: Self.now, schema: 0, positions: positions, changes: changes, isLast: true),
            BatchHeader(
                group: keys.group, member: member, number: last.header.number + 1,
                epoch: keys.currentEpoch, previous: last.hash, chain: keys.position),
            key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
        let name = SyncNames.batch(
            group: keys.group, member: member, number: batch.header.number)
        check(objects.create(name, batch.bytes))
        return name
    }

    /// In milliseconds since 1970.
    private static var now: UInt64 { UInt64(Date().timeIntervalSince1970 * 1000) }

    private func row(
        _ key: String, at time: UInt64, by member: MemberID? = nil
    ) async throws -> RowChange {
        let ben = try await AdversaryGroup.id(of: group.ben)
        let timestamp = Timestamp(time: time, member: member ?? ben)
        return RowChange(
            table: "parent", key: [.text(key)],
            incarnation: .init(timestamp: timestamp, isAlive: true),
            columnGroups: [
                .init(columns: ["name"], values: [.text("hostile")], timestamp: timestamp),
                .init(columns: ["code"], values: [.null], timestamp: timestamp),
            ])
    }

    @Test(arguments: [Timestamp.greatestTime + 1, UInt64.max])
    func `a batch with a timestamp beyond the greatest is damaged, and nothing of it is applied`(
        _ time: UInt64
    ) async throws {
        let before = try anna.rows()
        let name = try await send([
            try await row("fine", at: Timestamp.time(milliseconds: 1_790_000_000_000)),
            try await row("late", at: time),
        ])
        let error = await #expect(throws: SyncError.self) {
            try await anna.engine.syncOnce()
        }
        guard case .damaged(name, _) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try check(anna.rows(), equals: before)
        // Logs of others continue.
        try await cleo.queue.write {
            try $0.executeStatements("INSERT INTO parent VALUES ('cleo', 'cleo', NULL)")
        }
        await #expect(throws: SyncError.self) { try await cleo.engine.syncOnce() }
        await #expect(throws: SyncError.self) { try await anna.engine.syncOnce() }
        try check(anna.rows().contains { $0.contains("'cleo'") })
    }

    @Test(arguments: [0, 1 << 63, UInt64.max])
    func `a batch that names a number which no batch has is damaged`(
        _ number: UInt64
    ) async throws {
        let before = try anna.rows()
        for member in [try await AdversaryGroup.id(of: group.cleo), .none] {
            let position = BatchPosition(member: member, number: number, hash: Data(count: 16))
            let name = try await send(
                [try await row("fine", at: Timestamp.time(milliseconds: 1_790_000_000_000))],
                positions: [position])
            let error = await #expect(throws: SyncError.self) {
                try await anna.engine.syncOnce()
            }
            guard case .damaged(name, _) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            objects.set(name, nil)
        }
        try check(anna.rows(), equals: before)
    }

    @Test(arguments: [
        Timestamp.greatestTime, Timestamp.time(milliseconds: Self.now + 751 * 86_400_000),
    ])
    func `what is far in the future waits, stops nobody, and is gone with its member`(
        _ time: UInt64
    ) async throws {
        _ = try await send([try await row("key-canary", at: time)])
        for number in 0..<3 {
            try await anna.write("INSERT INTO parent VALUES ('new \(number)', 'anna', NULL)")
            for device in [anna, cleo] {
                let error = await #expect(throws: SyncError.self) {
                    try await device.engine.syncOnce()
                }
                guard case .clockIsAhead(.member(_, group.ben.name), let until) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                check(until > Date().addingTimeInterval(86_000))
            }
            try check(cleo.rows().contains { $0.contains("'new \(number)'") })
            try check(!cleo.rows().contains { $0.contains("hostile") })
        }
        let ben = try require(try await anna.engine.members().first { $0.name == group.ben.name })
        try await anna.engine.remove(ben)
        for device in [anna, cleo] { try await device.engine.syncOnce() }
    }

    @Test func `a row in another member's name, or older than its log's lower bound, is damaged`()
        async throws
    {
        let before = try anna.rows()
        let cleo = try await AdversaryGroup.id(of: group.cleo)
        var edit = try await row("x", at: Timestamp.time(milliseconds: Self.now + 1000))
        edit.incarnation.timestamp = Timestamp(
            time: edit.incarnation.timestamp.time + 1, member: cleo)
        for (change, reason) in [
            (
                try await row("x", at: Timestamp.time(milliseconds: Self.now + 1000), by: cleo),
                "a row is in another member's name"
            ),
            (edit, "a row is in another member's name"),
            (
                try await row("x", at: Timestamp.time(milliseconds: Self.now - 86_400_000)),
                "a row is older than its log's lower bound"
            ),
        ] {
            let name = try await send([change])
            let error = await #expect(throws: SyncError.self) {
                try await anna.engine.syncOnce()
            }
            check(error, equals: .damaged(name, reason))
            objects.set(name, nil)
        }
        try check(anna.rows(), equals: before)
    }
}
