/// The timestamps of one row: of its incarnation, and of each column written since.
package struct RowClock: Equatable, Sendable {
    package var incarnation: Timestamp
    /// False for a deleted row, whose clock stays as its tombstone.
    package var isAlive: Bool
    /// By the column's number, see ``TableShape/columnNumbers``; never the incarnation's own
    /// timestamp.
    package private(set) var columns: [Int64: Timestamp]

    package init(incarnation: Timestamp, isAlive: Bool, columns: [Int64: Timestamp] = [:]) {
        self.incarnation = incarnation
        self.isAlive = isAlive
        self.columns = columns.filter { $0.value != incarnation }
    }

    /// The clock of a row without a stored one.
    package static let stablePoint = RowClock(incarnation: .stablePoint, isAlive: true)

    package subscript(column: Int64) -> Timestamp {
        get { columns[column] ?? incarnation }
        set { columns[column] = newValue == incarnation ? nil : newValue }
    }

    package var greatest: Timestamp { columns.values.reduce(incarnation, max) }
}

extension RowClock {
    /// The clock as bytes: 10 for an inserted row, about 7 more for each later edit time.
    ///
    /// A byte for the format and `isAlive`; the incarnation's timestamp: member's number,
    /// milliseconds, counter; then for each other timestamp: member's number, milliseconds after
    /// the incarnation's, counter, the number of columns that have it, their numbers. All are
    /// variable-length numbers: 7 bits a byte, the least first. Equal clocks have equal bytes.
    package func encoded(number: (MemberID) throws -> Int64) rethrows -> [UInt8] {
        var bytes: [UInt8] = [isAlive ? 1 : 0]
        bytes.append(UInt64(bitPattern: try number(incarnation.member)))
        bytes.append(incarnation.time >> 16)
        bytes.append(incarnation.time & 0xffff)
        guard !columns.isEmpty else { return bytes }
        let runs = Dictionary(grouping: columns.keys) { columns[$0] ?? incarnation }
        for (timestamp, numbers) in runs.sorted(by: { $0.key < $1.key }) {
            bytes.append(UInt64(bitPattern: try number(timestamp.member)))
            // Not below the incarnation's, except in a foreign clock: the difference wraps.
            bytes.append((timestamp.time >> 16) &- (incarnation.time >> 16))
            bytes.append(timestamp.time & 0xffff)
            bytes.append(UInt64(numbers.count))
            for column in numbers.sorted() { bytes.append(UInt64(bitPattern: column)) }
        }
        return bytes
    }

    /// Returns nil for bytes that ``encoded(number:)`` does not write.
    package init?(
        decoding bytes: some Collection<UInt8>, member: (Int64) throws -> MemberID?
    ) rethrows {
        var rest = bytes[...]
        guard let first = rest.popFirst(), first <= 1 else { return nil }
        guard let incarnationMember = rest.popNumber(), let milliseconds = rest.popNumber(),
            let counter = rest.popNumber(), counter <= 0xffff, milliseconds <= UInt64.max >> 16,
            let member0 = try member(Int64(bitPattern: incarnationMember))
        else { return nil }
        self.init(
            incarnation: Timestamp(time: milliseconds << 16 | counter, member: member0),
            isAlive: first == 1)
        while !rest.isEmpty {
            guard let writer = rest.popNumber(), let later = rest.popNumber(),
                let counter = rest.popNumber(), counter <= 0xffff, let count = rest.popNumber(),
                let id = try member(Int64(bitPattern: writer))
            else { return nil }
            let timestamp = Timestamp(time: (milliseconds &+ later) << 16 | counter, member: id)
            for _ in 0..<min(count, UInt64(rest.count) + 1) {
                guard let column = rest.popNumber() else { return nil }
                columns[Int64(bitPattern: column)] = timestamp
            }
        }
    }
}

extension [UInt8] {
    /// Appends a number of up to 64 bits, 7 a byte, the least first.
    fileprivate mutating func append(_ number: UInt64) {
        var number = number
        while number > 0x7f {
            append(UInt8(number & 0x7f) | 0x80)
            number >>= 7
        }
        append(UInt8(number))
    }
}

extension Collection<UInt8> where SubSequence == Self {
    fileprivate mutating func popNumber() -> UInt64? {
        var number: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 7) {
            guard let byte = popFirst() else { return nil }
            number |= UInt64(byte & 0x7f) << shift
            if byte < 0x80 { return number }
        }
        return nil
    }
}
