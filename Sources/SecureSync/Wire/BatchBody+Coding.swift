internal import Foundation
internal import SecureStorage

// A body is CBOR: an array of the time, the schema, whether it is the last, the heads, the names
// of tables, the members, the shapes, and the rows. Names, members and shapes are listed once.

extension BatchBody {
    /// The bytes of the body.
    package func encoded() -> [UInt8] {
        var names = Numbering<String>()
        var members = Numbering<MemberID>()
        var shapes = Numbering<ChangeShape>()
        var rows = CBORWriter(capacity: 64 * changes.count + 64)
        for change in changes {
            let shape = shapes.number(
                of: ChangeShape(
                    table: change.table, keyCount: change.key.count,
                    registers: change.registers.map(\.columns)))
            write(change, shape, to: &rows) { members.number(of: $0) }
        }
        var writer = CBORWriter(capacity: rows.bytes.count + 512)
        writer.array(8)
        writer.unsigned(time)
        writer.unsigned(schema)
        writer.bool(isLast)
        writer.array(heads.count)
        for head in heads {
            writer.array(3)
            writer.data(head.member.bytes)
            writer.unsigned(head.number)
            writer.data(head.hash)
        }
        var forms = CBORWriter()
        forms.array(shapes.values.count)
        for shape in shapes.values {
            forms.array(2 + shape.registers.count)
            forms.unsigned(UInt64(names.number(of: shape.table)))
            forms.unsigned(UInt64(shape.keyCount))
            for columns in shape.registers {
                forms.array(columns.count)
                for column in columns { forms.unsigned(UInt64(names.number(of: column))) }
            }
        }
        writer.array(names.values.count)
        for name in names.values { writer.text(name) }
        writer.array(members.values.count)
        for member in members.values { writer.data(member.bytes) }
        writer.append(forms)
        writer.array(changes.count)
        writer.append(rows)
        return writer.bytes
    }

    /// A row is its shape, its life, the values of its key, and for each register its stamps and
    /// values. A register that was written with the row's life has a true instead of stamps.
    private func write(
        _ change: RowChange, _ shape: Int, to writer: inout CBORWriter,
        _ member: (MemberID) -> Int
    ) {
        writer.unsigned(UInt64(shape))
        writer.bool(change.life.isAlive)
        StampCode.write(change.life.stamp, to: &writer, near: time, member)
        StampCode.write(change.life.known, to: &writer, near: time, member)
        for value in change.key { writer.value(value) }
        for register in change.registers {
            if register.stamp == change.life.stamp, register.known == nil {
                writer.bool(true)
            } else {
                StampCode.write(register.stamp, to: &writer, near: time, member)
                StampCode.write(register.known, to: &writer, near: time, member)
            }
            for value in register.values { writer.value(value) }
        }
    }

    /// Reads a body.
    ///
    /// - Throws: `CBORError` for anything that `encoded` does not write.
    package init(decoding bytes: [UInt8]) throws {
        var reader = CBORReader(bytes)
        try reader.array(count: 8)
        let time = try reader.unsigned()
        guard time <= UInt64.max >> 16 else { throw CBORError("a time is out of range") }
        let schema = try reader.unsigned()
        let isLast = try reader.bool()
        let heads = try (0..<reader.array()).map { _ in
            try reader.array(count: 3)
            let member = try reader.member()
            return LogHead(
                member: member, number: try reader.unsigned(),
                hash: Data(try reader.data(count: 8)))
        }
        let names = try (0..<reader.array()).map { _ in try reader.text() }
        let members = try (0..<reader.array()).map { _ in try reader.member() }
        let shapes = try (0..<reader.array()).map { _ in try reader.shape(names) }
        let count = try reader.array()
        var changes: [RowChange] = []
        changes.reserveCapacity(count)
        for _ in 0..<count { changes.append(try reader.change(shapes, members, near: time)) }
        try reader.expectEnd()
        self.init(time: time, schema: schema, heads: heads, changes: changes, isLast: isLast)
    }
}

/// Numbers for values, in the order in which they come.
private struct Numbering<Value: Hashable> {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]

    mutating func number(of value: Value) -> Int {
        if let number = numbers[value] { return number }
        numbers[value] = values.count
        values.append(value)
        return values.count - 1
    }
}

extension CBORWriter {
    /// Writes a value of SQLite's five types.
    mutating func value(_ value: SQLiteValue) {
        switch value {
        case .null: null()
        case .integer(let number): signed(number)
        case .real(let number): double(number)
        case .text(let text): self.text(text)
        case .blob(let bytes): data(bytes)
        }
    }
}

extension CBORReader {
    /// Reads a value of SQLite's five types.
    mutating func value() throws -> SQLiteValue {
        switch nextMajor {
        case 0, 1: .integer(try signed())
        case 2: .blob(Data(try data()))
        case 3: .text(try text())
        default: null() ? .null : .real(try double())
        }
    }

    fileprivate mutating func member() throws -> MemberID {
        guard let member = MemberID(try data(count: MemberID.byteCount)) else {
            throw CBORError("no member")
        }
        return member
    }

    fileprivate mutating func shape(_ names: [String]) throws -> ChangeShape {
        let count = try array()
        guard count >= 2 else { throw CBORError("a shape is too short") }
        let table = try name(names)
        let keyCount = try unsigned(as: Int.self)
        guard (1...100).contains(keyCount) else { throw CBORError("a key of no columns") }
        let registers = try (0..<(count - 2)).map { _ in
            let columns = try (0..<array()).map { _ in try name(names) }
            guard !columns.isEmpty else { throw CBORError("a group without columns") }
            return columns
        }
        guard Set(registers.joined()).count == registers.joined().count else {
            throw CBORError("a column occurs twice")
        }
        return ChangeShape(table: table, keyCount: keyCount, registers: registers)
    }

    private mutating func name(_ names: [String]) throws -> String {
        let number = try unsigned(as: Int.self)
        guard names.indices.contains(number) else { throw CBORError("no such name") }
        return names[number]
    }

    fileprivate mutating func change(
        _ shapes: [ChangeShape], _ members: [MemberID], near time: UInt64
    ) throws -> RowChange {
        let number = try unsigned(as: Int.self)
        guard shapes.indices.contains(number) else { throw CBORError("no such shape") }
        let shape = shapes[number]
        let isAlive = try bool()
        guard let stamp = try StampCode.read(&self, near: time, members) else {
            throw CBORError("a row without a stamp")
        }
        let life = RowChange.Life(
            stamp: stamp, isAlive: isAlive, known: try StampCode.read(&self, near: time, members))
        guard isAlive || shape.registers.isEmpty else {
            throw CBORError("a deleted row with values")
        }
        let key = try (0..<shape.keyCount).map { _ in try value() }
        let registers = try shape.registers.map { columns in
            var (own, known) = (stamp, Stamp?.none)
            if !isTrue() {
                guard let stamp = try StampCode.read(&self, near: time, members) else {
                    throw CBORError("a value without a stamp")
                }
                own = stamp
                known = try StampCode.read(&self, near: time, members)
            }
            return RowChange.Register(
                columns: columns, values: try columns.map { _ in try value() }, stamp: own,
                known: known)
        }
        return RowChange(table: shape.table, key: key, life: life, registers: registers)
    }
}
