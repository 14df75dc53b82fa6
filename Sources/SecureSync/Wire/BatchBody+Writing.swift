internal import Foundation
internal import SecureStorage

// A body is CBOR: an array of the time, the schema, whether it is the last, whether its time is a
// lower bound, the positions, the table and column names, the members, the shapes, and the rows;
// see Docs/SyncFormat.md. Names, members and shapes are listed once, in the order in which the rows
// use them.

extension BatchBody {
    /// The bytes of the body.
    package func encoded() -> [UInt8] {
        var rows = BatchRowWriter(base: time, count: changes.count)
        for change in changes { rows.write(change) }
        var names = Numbering<ExactName>()
        var shapes = CBORWriter()
        shapes.array(rows.shapes.values.count)
        for shape in rows.shapes.values {
            shapes.array(2 + shape.columnGroups.count)
            shapes.unsigned(UInt64(names.number(of: shape.table)))
            shapes.unsigned(UInt64(shape.keyCount))
            for columns in shape.columnGroups {
                shapes.array(columns.count)
                for column in columns { shapes.unsigned(UInt64(names.number(of: column))) }
            }
        }
        var writer = CBORWriter(capacity: rows.writer.bytes.count + shapes.bytes.count + 512)
        writer.array(9)
        writer.unsigned(time)
        writer.unsigned(schema)
        writer.bool(isLast)
        writer.bool(hasLowerBound)
        writer.array(positions.count)
        for position in positions {
            writer.array(3)
            writer.data(position.member.bytes)
            writer.unsigned(position.number)
            writer.data(position.hash)
        }
        writer.array(names.values.count)
        for name in names.values { writer.text(name.text) }
        writer.array(rows.members.values.count)
        for member in rows.members.values { writer.data(member.bytes) }
        writer.append(shapes)
        writer.array(changes.count)
        writer.append(rows.writer)
        return writer.bytes
    }
}

/// Writes rows, and lists their names, members and shapes.
private struct BatchRowWriter {
    let base: UInt64
    var writer: CBORWriter
    var shapes = Numbering<ChangeShape>()
    var members = Numbering<MemberID>()
    private var incarnation: RowChange.Incarnation?
    private var shape: (shape: ChangeShape, number: Int)?

    init(base: UInt64, count: Int) {
        self.base = base
        writer = CBORWriter(capacity: 128 * count)
    }

    mutating func write(_ change: RowChange) {
        let kind = RowKind(change)
        var count = 4 + change.key.count
        for columnGroup in change.columnGroups {
            count += columnGroup.values.count + (kind == .ownTimestamps ? 2 : 0)
        }
        writer.array(count)
        writer.unsigned(UInt64(number(ofShapeOf: change)))
        writer.unsigned(kind.rawValue)
        timestamp(change.incarnation.timestamp, like: incarnation?.timestamp)
        timestamp(change.incarnation.known, like: incarnation?.known)
        for value in change.key { writer.value(value) }
        var (own, known) = (change.incarnation.timestamp, change.incarnation.known)
        for columnGroup in change.columnGroups {
            if kind == .ownTimestamps {
                timestamp(columnGroup.timestamp, like: own)
                timestamp(columnGroup.known, like: known)
                (own, known) = (columnGroup.timestamp, columnGroup.known)
            }
            for value in columnGroup.values { writer.value(value) }
        }
        incarnation = change.incarnation
    }

    private mutating func timestamp(_ timestamp: Timestamp?, like other: Timestamp?) {
        TimestampCode.write(timestamp, like: other, near: base, to: &writer) {
            members.number(of: $0)
        }
    }

    private mutating func number(ofShapeOf change: RowChange) -> Int {
        if let shape, shape.shape.isShape(of: change) { return shape.number }
        let new = ChangeShape(change)
        let number = shapes.number(of: new)
        shape = (new, number)
        return number
    }
}

extension CBORWriter {
    /// Writes a value of one of SQLite's five types; NaN as null, as SQLite stores it.
    mutating func value(_ value: SQLiteValue) {
        switch value {
        case .null: null()
        case .integer(let number): signed(number)
        case .real(let number): number.isNaN ? null() : double(number)
        case .text(let text): self.text(text)
        case .blob(let bytes): data(bytes)
        }
    }
}
