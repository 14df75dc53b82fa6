import Foundation
import SecureKeys
import SecureStorage
import SecureSync
import TestSupport
import Testing

struct SnapshotPartTests {
    private let key: DataEncryptionKey
    private let rows = SnapshotManifest.Rows(name: Data(1...16), epoch: 1, parts: [])

    init() throws { key = try DataEncryptionKey(name: "epoch 1", bytes: .random(count: 32)) }

    private func write(
        _ changes: [RowChange]
    ) throws -> (parts: [Data], rows: SnapshotManifest.Rows) {
        let parts = Parts()
        var writer = SnapshotPart.Writer(
            group: BatchSamples.group, rows: rows, key: key, time: BatchSamples.time, schema: 1
        ) { parts.all.append($0) }
        for change in changes { try writer.add(change) }
        try writer.finish()
        return (parts.all, writer.rows)
    }

    private final class Parts { var all: [Data] = [] }

    private func read(
        _ part: Data, _ number: Int = 1, group: Data = BatchSamples.group
    ) throws -> [RowChange] {
        var changes: [RowChange] = []
        try SnapshotPart.read(part, number: number, of: rows, group: group, key: key) {
            changes += $0
        }
        return changes
    }

    @Test func `rows come back in their order, whatever their number`() throws {
        for count in [0, 1, 999, 1000, 1001, 2500] {
            let changes = BatchSamples.random(count, seed: UInt64(count))
            let (parts, rows) = try write(changes)
            check(rows.parts.count, equals: parts.count)
            check(parts.isEmpty, equals: (count == 0))
            try check(parts.enumerated().flatMap { try read($1, $0 + 1) }, equals: changes)
        }
    }

    @Test func `a large content is in several parts of about 2 MiB`() throws {
        let changes = (0..<30).map {
            BatchSamples.insertion($0, [("body", .blob(Data(count: 1 << 20)))])
        }
        let (parts, _) = try write(changes)
        check(parts.count > 2)
        check(parts.allSatisfy { $0.count < 4 << 20 })
        try check(parts.enumerated().flatMap { try read($1, $0 + 1) }, equals: changes)
    }

    @Test func `a changed, cut or moved part is refused`() throws {
        let part = try require(write(BatchSamples.random(40, seed: 1)).parts.first)
        for index in stride(from: 0, to: part.count, by: 7) {
            var changed = part
            changed[index] ^= 1
            #expect(throws: CBORError.self) { try read(changed) }
        }
        for count in stride(from: 5, to: part.count, by: 11) {
            #expect(throws: CBORError.self) { try read(part.prefix(count)) }
        }
        #expect(throws: CBORError.self) { try read(part, 2) }
        #expect(throws: CBORError.self) { try read(part, group: Data(count: 16)) }
    }

    @Test func `parts on their way are in a directory that no other user can read`() throws {
        let directory = try SnapshotPart.makeDirectory()
        defer { try? FileManager.default.removeItem(at: directory) }
        let attributes = try FileManager.default.attributesOfItem(atPath: directory.path)
        check(attributes[.posixPermissions] as? Int, equals: 0o700)
    }
}
