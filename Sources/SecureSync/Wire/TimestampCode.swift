/// A timestamp as an item of a body: null for none, false for the stable point, true for the one
/// that it is compared with.
///
/// Otherwise an array: its milliseconds relative to the batch's time, its counter unless 0, and its
/// member's number. The rows of one transaction, and the columns of one row, usually share a
/// timestamp.
enum TimestampCode {
    static func write(
        _ timestamp: Timestamp?, like other: Timestamp?, near base: UInt64,
        to writer: inout CBORWriter,
        number: (MemberID) -> Int
    ) {
        guard let timestamp else { return writer.null() }
        guard timestamp != .stablePoint else { return writer.bool(false) }
        guard timestamp != other else { return writer.bool(true) }
        let counter = timestamp.time & 0xffff
        writer.array(counter == 0 ? 2 : 3)
        // Both are below 2^48.
        writer.signed(Int64(timestamp.milliseconds) - Int64(base))
        if counter != 0 { writer.unsigned(counter) }
        writer.unsigned(UInt64(number(timestamp.member)))
    }

    /// - Throws: `CBORError`, including for a timestamp that `write` would encode differently.
    static func read(
        like other: Timestamp?, near base: UInt64, _ members: inout Listing<MemberID>,
        from reader: inout CBORReader
    ) throws -> Timestamp? {
        if reader.skipNull() { return nil }
        if reader.skipFalse() { return .stablePoint }
        if reader.skipTrue() {
            guard let other, other != .stablePoint else { throw CBORError("a timestamp like none") }
            return other
        }
        let count = try reader.array(atMost: 3)
        guard count >= 2 else { throw CBORError("a timestamp is too short") }
        let (milliseconds, isOver) = Int64(base).addingReportingOverflow(try reader.signed())
        guard !isOver, (0...Int64(Timestamp.greatestTime >> 16)).contains(milliseconds) else {
            throw CBORError("a timestamp is out of range")
        }
        let counter = count == 2 ? 0 : try reader.unsigned(as: UInt16.self)
        let timestamp = Timestamp(
            time: UInt64(milliseconds) << 16 | UInt64(counter),
            member: try members.value(try reader.unsigned()))
        guard timestamp != .stablePoint, timestamp != other, count == 2 || counter != 0 else {
            throw CBORError("a timestamp is not in its shortest form")
        }
        return timestamp
    }
}

/// Numbers values in order of appearance.
struct Numbering<Value: Hashable> {
    private(set) var values: [Value] = []
    private var numbers: [Value: Int] = [:]

    mutating func number(of value: Value) -> Int {
        if let number = numbers[value] { return number }
        numbers[value] = values.count
        values.append(value)
        return values.count - 1
    }
}

/// Values listed by a `Numbering`.
///
/// Checks that each occurs once, and that their first uses follow the list's order, so one content
/// has one form.
struct Listing<Value: Hashable> {
    let values: [Value]
    private var used = 0

    init(_ values: [Value]) throws {
        guard Set(values).count == values.count else { throw CBORError("a list has a value twice") }
        self.values = values
    }

    mutating func value(_ number: UInt64) throws -> Value {
        guard number < values.count, number <= used else { throw CBORError("no such number") }
        if number == used { used += 1 }
        return values[Int(number)]
    }

    func expectAllUsed() throws {
        guard used == values.count else { throw CBORError("a list has a value that is not used") }
    }
}
