internal import Crypto
package import Foundation
package import SecureKeys

/// An object with rows of a snapshot: sealed frames, each with as many rows as a batch.
///
/// It starts with `magic`, followed by each frame's big-endian length in 4 bytes and the frame. The
/// manifest has the hash of the whole object.
package struct SnapshotPart {
    static let magic = Data("SSP".utf8) + [1]
    /// About the size of a part; one row may make it larger.
    static let size = 2 << 20

    /// Creates a directory for parts in transit, which no other user can read.
    ///
    /// - Returns: Its location; the caller removes it.
    /// - Throws: The error of the file system.
    package static func makeDirectory() throws -> URL {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(
            "securestorage-sync-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return directory
    }

    /// Seals rows into parts, and passes each on when it is full.
    package struct Writer {
        private let group: Data
        private let key: DataEncryptionKey
        private let time: UInt64
        private let schema: UInt64
        private let handOver: (Data) throws -> Void
        private var part = SnapshotPart.magic
        private var frames: UInt64 = 0
        private var waiting: [RowChange] = []
        private var waitingBytes = 0
        private var isEmpty = true
        package private(set) var rows: SnapshotManifest.Rows

        package init(
            group: Data, rows: SnapshotManifest.Rows, key: DataEncryptionKey, time: UInt64,
            schema: UInt64, handOver: @escaping (Data) throws -> Void
        ) {
            self.group = group
            self.rows = rows
            self.key = key
            self.time = time
            self.schema = schema
            self.handOver = handOver
        }

        package mutating func add(_ change: RowChange) throws {
            waiting.append(change)
            waitingBytes += TransactionParts.size(of: change)
            if waiting.count >= TransactionParts.mostRows
                || waitingBytes >= TransactionParts.mostBytes
            {
                try writeFrames()
            }
        }

        /// Writes the remaining rows.
        package mutating func finish() throws {
            try writeFrames()
            if !isEmpty { try writePart() }
        }

        private mutating func writeFrames() throws {
            guard !waiting.isEmpty else { return }
            for changes in try TransactionParts.split(
                waiting, longestRow: TransactionParts.longestWholeRow)
            {
                let body = BatchBody(
                    time: time, schema: schema, positions: [], changes: Array(changes), isLast: true
                )
                let place = SnapshotPart.place(
                    group, rows, part: rows.parts.count + 1, frame: frames)
                let frame = try key.seal(
                    Data(Padding.padded(body.encoded())), table: SnapshotPart.label,
                    column: "rows", row: place)
                withUnsafeBytes(of: UInt32(frame.count).bigEndian) { part.append(contentsOf: $0) }
                part.append(frame)
                frames += 1
                isEmpty = false
                if part.count >= SnapshotPart.size { try writePart() }
            }
            waiting.removeAll(keepingCapacity: true)
            waitingBytes = 0
        }

        private mutating func writePart() throws {
            try handOver(part)
            rows.parts.append(
                .init(size: UInt64(part.count), hash: Data(SHA256.hash(data: part))))
            part = SnapshotPart.magic
            frames = 0
            isEmpty = true
        }
    }

    static let label = "SecureStorage sync snapshot rows 1"

    static func place(
        _ group: Data, _ rows: SnapshotManifest.Rows, part: Int, frame: UInt64
    ) -> RowIdentity {
        var place = group + rows.name
        for number in [rows.epoch, UInt64(part), frame] {
            withUnsafeBytes(of: number.bigEndian) { place.append(contentsOf: $0) }
        }
        return .text(place.base64EncodedString())
    }

    /// Whether bytes match a part.
    static func isPart(_ bytes: Data, of part: SnapshotManifest.Part) -> Bool {
        UInt64(bytes.count) == part.size && Data(SHA256.hash(data: bytes)) == part.hash
    }

    /// Passes the rows of a part, frame by frame.
    ///
    /// - Throws: `CBORError` if the bytes or the key are wrong; what `body` throws.
    package static func read(
        _ bytes: Data, number: Int, of rows: SnapshotManifest.Rows, group: Data,
        key: DataEncryptionKey, _ body: ([RowChange]) throws -> Void
    ) throws {
        guard bytes.starts(with: magic) else { throw CBORError("it has no rows of a snapshot") }
        var rest = bytes.dropFirst(magic.count)
        var frame: UInt64 = 0
        while !rest.isEmpty {
            guard rest.count > 4 else { throw CBORError("it ends too early") }
            let count = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            rest = rest.dropFirst(4)
            guard count <= rest.count else { throw CBORError("it ends too early") }
            let padded: Data
            do {
                padded = try key.open(
                    Data(rest.prefix(count)), table: label, column: "rows",
                    row: place(group, rows, part: number, frame: frame))
            } catch EnvelopeError.cleared(let name) {
                throw EnvelopeError.cleared(name: name)
            } catch is EnvelopeError {
                throw CBORError("its seal does not open")
            }
            guard let content = Padding.removed(from: [UInt8](padded)) else {
                throw CBORError("its padding is wrong")
            }
            try body(try BatchBody(decoding: content).changes)
            rest = rest.dropFirst(count)
            frame += 1
        }
    }
}
