import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureSync
@testable import SecureSyncTests
@testable import SyncSimulator

/// Transactions that take more memory than one may.
struct SyncLongTransactionTests: InRevokedGroup {
    let group: RevokedGroup

    init() async throws { group = try await RevokedGroup() }

    @Test func `an import of more than 32 MiB arrives, as several transactions`() async throws {
        try await anna.write(
            """
            WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n LIMIT 42)
            INSERT INTO parent SELECT 'row ' || i, hex(zeroblob(500000)), NULL FROM n
            """)
        try await anna.engine.syncOnce()
        let report = try await cleo.engine.syncOnce()
        check(report.appliedTransactions, equals: 2)
        try check(parents(cleo).count, equals: 42)
        try await settle([anna, cleo, ruth])
        try check(ruth.rows(), equals: anna.rows())
    }

    @Test func `a transaction that never ends stops its log only, and its writer is removed`()
        async throws
    {
        let keys = try await self.keys(of: ruth)
        var previous = try last(of: keys).batch
        let timestamp = Timestamp(
            time: Timestamp.time(milliseconds: 1_790_000_000_000), member: keys.member)
        // Zeros take nothing in the store.
        let text = SQLiteValue.text(String(repeating: "0", count: 10 << 20))
        for number in 0..<9 {
            let row = RowChange(
                table: "parent", key: [.text("row \(number)")],
                incarnation: .init(timestamp: timestamp, isAlive: true),
                columnGroups: [.init(columns: ["name"], values: [text], timestamp: timestamp)])
            let batch = try SealedBatch.seal(
                BatchBody(
                    time: 1_790_000_000_000, schema: 0, positions: [], changes: [row], isLast: false
                ),
                BatchHeader(
                    group: keys.group, member: keys.member, number: previous.header.number + 1,
                    epoch: keys.currentEpoch, previous: previous.hash, chain: keys.position),
                key: try keys.key(ofEpoch: keys.currentEpoch), sign: keys.sign)
            let name = SyncNames.batch(
                group: keys.group, member: keys.member, number: batch.header.number)
            check(objects.create(name, batch.bytes))
            previous = batch
        }
        try await write("by anna", by: anna)
        try await anna.write("UPDATE parent SET name = 'b'")
        for device in [anna, cleo] {
            let error = await #expect(throws: SyncError.self) {
                try await device.engine.syncOnce()
            }
            guard case .damaged(_, "its transaction is too long") = error else {
                Issue.record("\(String(describing: error))")
                continue
            }
        }
        try check(parents(cleo), equals: ["by anna"])
        _ = try await removeRuth()
        try await settle([anna, cleo])
        try check(parents(cleo), equals: ["by anna"])
    }
}
