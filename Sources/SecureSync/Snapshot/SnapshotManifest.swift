package import Foundation

/// The content of a snapshot's manifest: the declaration, the state of each log, and the location
/// of the rows.
package struct SnapshotManifest: Equatable, Sendable {
    /// When it was made, in milliseconds since 1970 by its writer's clock.
    package var time: UInt64
    /// How many migrations the writer's file has.
    package var schema: UInt64
    package var declaration: Declaration
    /// For each log that the declaration names, the state from which its readers continue.
    package var logs: [MemberID: Log]
    package var rows: Rows

    package init(
        time: UInt64, schema: UInt64, declaration: Declaration, logs: [MemberID: Log], rows: Rows
    ) {
        self.time = time
        self.schema = schema
        self.declaration = declaration
        self.logs = logs
        self.rows = rows
    }

    package struct Log: Equatable, Sendable {
        /// The SHA-256 of the last batch that the snapshot contains.
        ///
        /// If there is none yet, the hash of the member's last batch in the former group that the
        /// founder had applied, which distinguishes the member's file from an old copy; or zeros.
        package var hash: Data
        /// When that batch was sealed, by its writer's clock.
        package var heard: UInt64
        /// The lower bounds that determine the stable point's time: of the batches that others have
        /// acknowledged, and of the last one.
        package var lowerBounds: [LowerBound]
        /// The positions of other logs that the member has acknowledged; for `MemberID.none`, the
        /// last snapshot that it had adopted.
        package var published: VersionVector

        package init(
            hash: Data, heard: UInt64, lowerBounds: [LowerBound], published: VersionVector
        ) {
            self.hash = hash
            self.heard = heard
            self.lowerBounds = lowerBounds
            self.published = published
        }
    }

    /// The time of a batch: all timestamps in later batches of its log are above it.
    package struct LowerBound: Equatable, Sendable {
        package var number: UInt64
        package var time: UInt64

        package init(number: UInt64, time: UInt64) {
            self.number = number
            self.time = time
        }
    }

    /// The objects with the rows, which several snapshots may share.
    package struct Rows: Equatable, Sendable {
        /// The 16 random bytes in their names.
        package var name: Data
        /// The epoch of the key that seals them.
        package var epoch: UInt64
        package var parts: [Part]

        package init(name: Data, epoch: UInt64, parts: [Part]) {
            self.name = name
            self.epoch = epoch
            self.parts = parts
        }
    }

    package struct Part: Equatable, Sendable {
        package var size: UInt64
        /// The SHA-256 of its bytes.
        package var hash: Data

        package init(size: UInt64, hash: Data) {
            self.size = size
            self.hash = hash
        }
    }

    /// The manifest that begins a new member's log, to follow this newest one.
    package func beginningLog(of member: MemberID, at time: UInt64) -> SnapshotManifest? {
        guard let next = declaration.beginningLog(of: member) else { return nil }
        var manifest = self
        manifest.declaration = next
        manifest.time = time
        manifest.logs[member] = Log(
            hash: Data(count: 32), heard: time, lowerBounds: [], published: [:])
        return manifest
    }
}

// MARK: - As CBOR

// An array of the time, the schema, the stable point's time, the logs, and the rows; a log is an
// array, see `write(_:)`. See Docs/SyncFormat.md.
extension SnapshotManifest {
    private static let mostLogs = 4096
    private static let mostParts = 1 << 20

    package func encoded() -> [UInt8] {
        var writer = CBORWriter(capacity: 512 + 256 * logs.count + 48 * rows.parts.count)
        writer.array(5)
        writer.unsigned(time)
        writer.unsigned(schema)
        writer.unsigned(declaration.stablePoint.time)
        writer.array(logs.count)
        for (member, log) in logs.sorted(by: { $0.key < $1.key }) {
            write(member, log, to: &writer)
        }
        writer.array(3)
        writer.data(rows.name)
        writer.unsigned(rows.epoch)
        writer.array(rows.parts.count)
        for part in rows.parts {
            writer.array(2)
            writer.unsigned(part.size)
            writer.data(part.hash)
        }
        return writer.bytes
    }

    private func write(_ member: MemberID, _ log: Log, to writer: inout CBORWriter) {
        writer.array(9)
        writer.data(member.bytes)
        writer.unsigned(declaration.positions[member, default: 0])
        writer.data(log.hash)
        writer.unsigned(declaration.stablePoint.positions[member, default: 0])
        if let open = declaration.logs[member] {
            writer.array(open.closing == nil ? 1 : 2)
            writer.unsigned(open.began)
            if let closing = open.closing { writer.unsigned(closing) }
        } else {
            writer.unsigned(declaration.closed[member, default: 0])
        }
        writer.unsigned(log.heard)
        writer.array(log.lowerBounds.count)
        for lowerBound in log.lowerBounds {
            writer.array(2)
            writer.unsigned(lowerBound.number)
            writer.unsigned(lowerBound.time)
        }
        let published = log.published.filter { $0.key != .none }
        writer.array(published.count)
        for (member, number) in published.sorted(by: { $0.key < $1.key }) {
            writer.array(2)
            writer.data(member.bytes)
            writer.unsigned(number)
        }
        writer.unsigned(log.published[.none, default: 0])
    }

    /// Reads the content of manifest `number`.
    ///
    /// - Throws: `CBORError`.
    package init(decoding bytes: [UInt8], number: UInt64) throws {
        var reader = CBORReader(bytes)
        try reader.array(count: 5)
        let time = try reader.time()
        let schema = try reader.unsigned()
        var declaration = Declaration(
            number: number, positions: [:], stablePoint: StablePoint(time: try reader.time()),
            logs: [:],
            closed: [:])
        var logs: [MemberID: Log] = [:]
        var last = MemberID.none
        for _ in 0..<(try reader.array(atMost: Self.mostLogs)) {
            try reader.array(count: 9)
            let member = try reader.member()
            guard member > last else { throw CBORError("logs are not in their order") }
            last = member
            logs[member] = try Self.log(of: member, &reader, &declaration)
        }
        try reader.array(count: 3)
        let name = Data(try reader.data(count: 16))
        let epoch = try reader.unsigned()
        let parts = try (0..<(try reader.array(atMost: Self.mostParts))).map { _ in
            try reader.array(count: 2)
            return Part(size: try reader.unsigned(), hash: Data(try reader.data(count: 32)))
        }
        try reader.expectEnd()
        self.init(
            time: time, schema: schema, declaration: declaration, logs: logs,
            rows: Rows(name: name, epoch: epoch, parts: parts))
    }

    private static func log(
        of member: MemberID, _ reader: inout CBORReader, _ declaration: inout Declaration
    ) throws -> Log {
        let position = try reader.number()
        if position > 0 { declaration.positions[member] = position }
        let hash = Data(try reader.data(count: 32))
        guard position == 0 || hash.contains(where: { $0 != 0 }) else {
            throw CBORError("a log has a batch and no hash")
        }
        let stablePoint = try reader.number()
        guard stablePoint <= position else { throw CBORError("the stable point is above a log") }
        if stablePoint > 0 { declaration.stablePoint.positions[member] = stablePoint }
        if reader.nextMajor == 4 {
            let count = try reader.array(atMost: 2)
            guard count > 0 else { throw CBORError("a log that begins nowhere") }
            let began = try reader.number()
            let closing = count == 2 ? try reader.number() : nil
            declaration.logs[member] = .init(began: began, closing: closing)
        } else {
            declaration.closed[member] = try reader.number()
        }
        let heard = try reader.time()
        var last: UInt64 = 0
        let lowerBounds = try (0..<(try reader.array(atMost: mostLogs))).map { _ in
            try reader.array(count: 2)
            let lowerBound = LowerBound(number: try reader.number(), time: try reader.time())
            guard lowerBound.number > last, lowerBound.number <= position else {
                throw CBORError("lower bounds are not in their order")
            }
            last = lowerBound.number
            return lowerBound
        }
        var published: VersionVector = [:]
        var other = MemberID.none
        for _ in 0..<(try reader.array(atMost: mostLogs)) {
            try reader.array(count: 2)
            let member = try reader.member()
            guard member > other else { throw CBORError("positions are not in their order") }
            other = member
            published[member] = try reader.number()
        }
        let adopted = try reader.number()
        if adopted > 0 { published[.none] = adopted }
        return Log(hash: hash, heard: heard, lowerBounds: lowerBounds, published: published)
    }
}

extension CBORReader {
    fileprivate mutating func number() throws -> UInt64 {
        let number = try unsigned()
        guard number == 0 || SyncNames.isValid(number) else {
            throw CBORError("a number is out of range")
        }
        return number
    }

    fileprivate mutating func time() throws -> UInt64 {
        let time = try unsigned()
        guard time <= Timestamp.greatestTime >> 16 else {
            throw CBORError("a time is out of range")
        }
        return time
    }

    fileprivate mutating func member() throws -> MemberID {
        guard let member = MemberID(try data(count: MemberID.byteCount)), member != .none else {
            throw CBORError("no member")
        }
        return member
    }
}
