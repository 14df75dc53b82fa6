import Foundation
import SecureSync
import TestSupport
import Testing

struct SnapshotManifestTests {
    private let members = BatchSamples.members

    private var manifest: SnapshotManifest {
        let hash = Data(repeating: 7, count: 32)
        return SnapshotManifest(
            time: BatchSamples.time, schema: 3,
            declaration: Declaration(
                number: 9, positions: [members[0]: 5, members[1]: 2],
                stablePoint: StablePoint(positions: [members[0]: 4], time: 1000),
                logs: [members[0]: .init(began: 1), members[2]: .init(began: 8, closing: 9)],
                closed: [members[1]: 2]),
            logs: [
                members[0]: .init(
                    hash: hash, heard: 77, lowerBounds: [.init(number: 4, time: 1000)],
                    published: [members[1]: 2, .none: 8]),
                members[1]: .init(
                    hash: hash, heard: 1, lowerBounds: [.init(number: 2, time: 5)], published: [:]),
                members[2]: .init(
                    hash: Data(count: 32), heard: 0, lowerBounds: [], published: [:]),
            ],
            rows: .init(
                name: Data(count: 16), epoch: 2, parts: [.init(size: 12, hash: hash)]))
    }

    @Test func `what is written is read`() throws {
        let read = try SnapshotManifest(decoding: manifest.encoded(), number: 9)
        check(read, equals: manifest)
    }

    @Test func `a manifest that is cut or longer is refused`() {
        let bytes = manifest.encoded()
        for count in bytes.indices {
            #expect(throws: CBORError.self) {
                try SnapshotManifest(decoding: Array(bytes.prefix(count)), number: 9)
            }
        }
        #expect(throws: CBORError.self) {
            try SnapshotManifest(decoding: bytes + [0], number: 9)
        }
    }

    @Test func `no changed byte ends the reading in a trap`() {
        let bytes = manifest.encoded()
        var refused = 0
        for index in bytes.indices {
            for bit in 0..<8 {
                var changed = bytes
                changed[index] ^= 1 << bit
                do {
                    let read = try SnapshotManifest(decoding: changed, number: 9)
                    // One content has one form.
                    check(read.encoded(), equals: changed)
                } catch { refused += 1 }
            }
        }
        check(refused > bytes.count)
    }

    @Test func `a member begins its log once, and nothing else changes`() throws {
        let new = try require(MemberID(Array(repeating: 9, count: 16)))
        let next = try require(manifest.beginningLog(of: new, at: 5))
        check(next.declaration.number, equals: 10)
        check(next.declaration.positions, equals: manifest.declaration.positions)
        check(next.rows, equals: manifest.rows)
        check(next.beginningLog(of: new, at: 6) == nil)
        check(manifest.beginningLog(of: members[1], at: 5) == nil)
        try check(SnapshotManifest(decoding: next.encoded(), number: 10), equals: next)
    }
}
