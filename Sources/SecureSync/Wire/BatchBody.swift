internal import Foundation
internal import SecureStorage

/// What a batch says: rows, and what its writer knew when it wrote them.
package struct BatchBody: Equatable, Sendable {
    /// When it was sealed, in milliseconds since 1970 by its writer's clock.
    package var time: UInt64
    /// How many migrations the writer's file has.
    package var schema: UInt64
    /// What the writer has applied of other logs since its batch before; the hashes have 8 bytes.
    package var heads: [LogHead]
    package var changes: [RowChange]
    /// Whether this batch is the last one of its transaction: all of it is applied as one.
    package var isLast: Bool

    package init(
        time: UInt64, schema: UInt64, heads: [LogHead], changes: [RowChange], isLast: Bool
    ) {
        self.time = time
        self.schema = schema
        self.heads = heads.map {
            LogHead(member: $0.member, number: $0.number, hash: Data($0.hash.prefix(8)))
        }
        self.changes = changes
        self.isLast = isLast
    }
}

/// The columns that a row's change has values for. Rows of one shape share its names.
struct ChangeShape: Hashable {
    var table: String
    var keyCount: Int
    var registers: [[String]]
}

/// What a stamp or its absence is written as.
enum StampCode {
    /// Writes a stamp as the distance of its milliseconds from the batch's time, its counter, and
    /// the number of its member; false for the floor, null for none.
    static func write(
        _ stamp: Stamp?, to writer: inout CBORWriter, near base: UInt64,
        _ member: (MemberID) -> Int
    ) {
        guard let stamp else { return writer.null() }
        guard stamp != .floor else { return writer.bool(false) }
        writer.signed(Int64(stamp.milliseconds) - Int64(base))
        writer.unsigned(stamp.time & 0xffff)
        writer.unsigned(UInt64(member(stamp.member)))
    }

    static func read(
        _ reader: inout CBORReader, near base: UInt64, _ members: [MemberID]
    ) throws -> Stamp? {
        if reader.null() { return nil }
        if reader.nextMajor == 7 {
            guard try !reader.bool() else { throw CBORError("no stamp") }
            return .floor
        }
        let (milliseconds, isOver) = Int64(base).addingReportingOverflow(try reader.signed())
        let counter = try reader.unsigned(as: UInt16.self)
        let member = try reader.unsigned(as: Int.self)
        guard !isOver, (0...Int64(UInt64.max >> 16)).contains(milliseconds),
            members.indices.contains(member)
        else { throw CBORError("a stamp is out of range") }
        return Stamp(
            time: UInt64(milliseconds) << 16 | UInt64(counter), member: members[member])
    }
}
