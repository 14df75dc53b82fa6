internal import Foundation
internal import SecureStorage

/// The limits of a body; larger ones are not read.
///
/// `TransactionParts.split` stays below them. A hostile member's body cannot take more memory than
/// a few times its size and about 100 MiB.
enum BatchLimits {
    static let rows = TransactionParts.mostRows
    static let keyColumns = 1000
    /// For all rows together.
    ///
    /// SQLite's tables have at most 32,767 columns, and several rows in one part have fewer, since
    /// `split` counts 9 bytes or more for each.
    static let columnGroups = 1 << 16
    static let names = 1 << 16
    /// For all rows together, and for all shapes.
    static let values = 1 << 20
    static let positions = 1 << 16
}

extension BatchBody {
    /// Reads a body.
    ///
    /// - Throws: `CBORError` for anything that `encoded` does not write.
    package init(decoding bytes: [UInt8]) throws {
        var reader = CBORReader(bytes)
        try reader.array(count: 9)
        let time = try reader.unsigned()
        guard time <= Timestamp.greatestTime >> 16 else {
            throw CBORError("a time is out of range")
        }
        let schema = try reader.unsigned()
        let isLast = try reader.bool()
        let hasLowerBound = try reader.bool()
        let positions = try reader.items(atMost: BatchLimits.positions) { try $0.position() }
        let names = try reader.items(atMost: BatchLimits.names) { ExactName(text: try $0.text()) }
        var listed = try Listing(names)
        let members = try reader.items(atMost: BatchLimits.names) { try $0.member() }
        var (columns, shapes) = (0, [ReadShape]())
        for _ in 0..<(try reader.array(atMost: BatchLimits.rows)) {
            shapes.append(try reader.shape(&listed, &columns))
        }
        try listed.expectAllUsed()
        let count = try reader.array(atMost: BatchLimits.rows)
        var rows = BatchRowReader(
            reader: reader, base: time, shapes: try Listing(shapes), members: try Listing(members))
        var changes: [RowChange] = []
        changes.reserveCapacity(count)
        for _ in 0..<count { changes.append(try rows.read()) }
        try rows.expectEnd()
        self.init(
            time: time, schema: schema, positions: positions, changes: changes, isLast: isLast,
            hasLowerBound: hasLowerBound)
    }
}

/// A shape from which rows are made, which share its strings.
private struct ReadShape: Hashable {
    let table: String
    let keyCount: Int
    let columnGroups: [[String]]
    let valueCount: Int
    private let numbers: [[UInt64]]

    init(table: String, keyCount: Int, columnGroups: [[String]], numbers: [[UInt64]]) {
        self.table = table
        self.keyCount = keyCount
        self.columnGroups = columnGroups
        self.numbers = numbers
        valueCount = columnGroups.reduce(0) { $0 + $1.count }
    }

    // Compared by the numbers of names, which are unique: names may be long, and shapes many.
    static func == (left: ReadShape, right: ReadShape) -> Bool {
        left.keyCount == right.keyCount && left.numbers == right.numbers
    }

    func hash(into hasher: inout Hasher) {
        hasher.combine(keyCount)
        hasher.combine(numbers)
    }
}

/// Reads the output of a `BatchRowWriter`.
private struct BatchRowReader {
    var reader: CBORReader
    let base: UInt64
    var shapes: Listing<ReadShape>
    var members: Listing<MemberID>
    private var incarnation: RowChange.Incarnation?
    private var (columnGroups, values) = (0, 0)

    init(
        reader: CBORReader, base: UInt64, shapes: Listing<ReadShape>, members: Listing<MemberID>
    ) {
        self.reader = reader
        self.base = base
        self.shapes = shapes
        self.members = members
    }

    mutating func read() throws -> RowChange {
        let count = try reader.array()
        let shape = try shapes.value(try reader.unsigned())
        guard let kind = RowKind(rawValue: try reader.unsigned()) else {
            throw CBORError("a row of an unknown kind")
        }
        columnGroups += shape.columnGroups.count
        values += shape.keyCount + shape.valueCount
        guard columnGroups <= BatchLimits.columnGroups, values <= BatchLimits.values else {
            throw CBORError("too many values")
        }
        let timestamps = kind == .ownTimestamps ? 2 * shape.columnGroups.count : 0
        guard count == 4 + shape.keyCount + shape.valueCount + timestamps else {
            throw CBORError("a row of another length")
        }
        guard kind != .deleted || shape.columnGroups.isEmpty else {
            throw CBORError("a deleted row with values")
        }
        guard let born = try timestamp(like: incarnation?.timestamp) else {
            throw CBORError("a row without a timestamp")
        }
        let incarnation = RowChange.Incarnation(
            timestamp: born, isAlive: kind != .deleted,
            known: try timestamp(like: incarnation?.known))
        self.incarnation = incarnation
        var change = RowChange(
            table: shape.table, key: try items(shape.keyCount), incarnation: incarnation)
        change.columnGroups.reserveCapacity(shape.columnGroups.count)
        var (own, known) = (born, incarnation.known)
        for columns in shape.columnGroups {
            if kind == .ownTimestamps {
                guard let timestamp = try timestamp(like: own) else {
                    throw CBORError("a value without a timestamp")
                }
                (own, known) = (timestamp, try self.timestamp(like: known))
            }
            change.columnGroups.append(
                RowChange.ColumnGroup(
                    columns: columns, values: try items(columns.count), timestamp: own,
                    known: kind == .ownTimestamps ? known : nil))
        }
        guard RowKind(change) == kind else { throw CBORError("a row is not in its shortest form") }
        return change
    }

    func expectEnd() throws {
        try shapes.expectAllUsed()
        try members.expectAllUsed()
        try reader.expectEnd()
    }

    private mutating func timestamp(like other: Timestamp?) throws -> Timestamp? {
        try TimestampCode.read(like: other, near: base, &members, from: &reader)
    }

    private mutating func items(_ count: Int) throws -> [SQLiteValue] {
        var values: [SQLiteValue] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try reader.value()) }
        return values
    }
}

extension CBORReader {
    /// Reads a value of one of SQLite's five types.
    mutating func value() throws -> SQLiteValue {
        switch nextMajor {
        case 0, 1: return .integer(try signed())
        case 2: return .blob(Data(try data()))
        case 3: return .text(try text())
        default:
            if skipNull() { return .null }
            let number = try double()
            guard !number.isNaN else { throw CBORError("not a number") }
            return .real(number)
        }
    }

    /// Reads an array; allocates memory as it reads.
    fileprivate mutating func items<Item>(
        atMost limit: Int, _ item: (inout CBORReader) throws -> Item
    ) throws -> [Item] {
        var items: [Item] = []
        for _ in 0..<(try array(atMost: limit)) { items.append(try item(&self)) }
        return items
    }

    fileprivate mutating func position() throws -> BatchPosition {
        try array(count: 3)
        let (member, number) = (try member(), try unsigned())
        // It is stored as an `Int64`, and every batch and snapshot has a number from 1.
        guard SyncNames.isValid(number) else { throw CBORError("a number is out of range") }
        return BatchPosition(
            member: member, number: number,
            hash: Data(try data(count: BatchPosition.shortHashCount)))
    }

    fileprivate mutating func member() throws -> MemberID {
        guard let member = MemberID(try data(count: MemberID.byteCount)) else {
            throw CBORError("no member")
        }
        return member
    }

    fileprivate mutating func shape(
        _ names: inout Listing<ExactName>, _ columns: inout Int
    ) throws -> ReadShape {
        let count = try array(atMost: BatchLimits.columnGroups)
        guard count >= 2 else { throw CBORError("a shape is too short") }
        let tableNumber = try unsigned()
        let table = try names.value(tableNumber).text
        let keyCount = try unsigned(as: Int.self)
        guard (1...BatchLimits.keyColumns).contains(keyCount) else {
            throw CBORError("a key of no or too many columns")
        }
        var (columnGroups, numbers, seen) = ([[String]](), [[tableNumber]], Set<UInt64>())
        for _ in 0..<(count - 2) {
            let size = try array()
            columns += size
            guard size > 0, columns <= BatchLimits.values else {
                throw CBORError("a group of no or too many columns")
            }
            var (group, groupNumbers) = ([String](), [UInt64]())
            for _ in 0..<size {
                let number = try unsigned()
                guard seen.insert(number).inserted else {
                    throw CBORError("a column occurs twice")
                }
                group.append(try names.value(number).text)
                groupNumbers.append(number)
            }
            columnGroups.append(group)
            numbers.append(groupNumbers)
        }
        return ReadShape(
            table: table, keyCount: keyCount, columnGroups: columnGroups, numbers: numbers)
    }
}
