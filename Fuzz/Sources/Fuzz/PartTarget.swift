import Foundation
import SecureKeys

@testable import SecureSync

/// Reads an input as a part of a snapshot's rows: as it is, as the frame of a correct seal, and as
/// the content of one.
struct PartTarget: FuzzTarget {
    private let key: DataEncryptionKey
    private static let group = Data(repeating: 5, count: 16)
    private static let rows = SnapshotManifest.Rows(name: Data(1...16), epoch: 1, parts: [])

    init() throws { key = try BatchTarget.key() }

    /// Returns the parts with these rows.
    static func parts(of changes: [RowChange], key: DataEncryptionKey) throws -> [Data] {
        final class Parts { var all: [Data] = [] }
        let parts = Parts()
        var writer = SnapshotPart.Writer(
            group: group, rows: rows, key: key, time: 1_790_000_000_000, schema: 1
        ) { parts.all.append($0) }
        for change in changes { try writer.add(change) }
        try writer.finish()
        return parts.all
    }

    func run(_ input: Data) throws {
        _ = try read(input)
        _ = try read((Data([0]) + SnapshotPart.magic + input).dropFirst())
        // A frame with a body of any kind, once more with a correct padding, then a second one.
        let padded = Data(Padding.padded([UInt8](input)))
        _ = try read(part([input]))
        guard let changes = try read(part([padded])) else { return }
        let body = try BatchBody(decoding: [UInt8](input))
        precondition(changes == body.changes, "a part has other rows")
        let twice = try read(part([padded, padded]))
        precondition(twice == changes + changes, "a second frame has other rows")
        let written = try Self.parts(of: changes, key: key)
        precondition(written.count == (changes.isEmpty ? 0 : 1), "few rows are many parts")
        for part in written {
            let again = try read(part)
            precondition(again == changes, "rows are written otherwise")
        }
    }

    private func read(_ part: Data) throws -> [RowChange]? {
        try allowing(CBORError.self) {
            var changes: [RowChange] = []
            try SnapshotPart.read(
                part, number: 1, of: Self.rows, group: Self.group, key: key
            ) { changes += $0 }
            return changes
        }
    }

    /// A part with frames of these contents, each with the seal of its place.
    private func part(_ contents: [Data]) throws -> Data {
        var part = SnapshotPart.magic
        for (index, content) in contents.enumerated() {
            let frame = try key.seal(
                content, table: SnapshotPart.label, column: "rows",
                row: SnapshotPart.place(Self.group, Self.rows, part: 1, frame: UInt64(index)))
            withUnsafeBytes(of: UInt32(frame.count).bigEndian) { part.append(contentsOf: $0) }
            part.append(frame)
        }
        return part
    }
}
