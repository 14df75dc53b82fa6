package import SecureStorage

extension CBORWriter {
    /// Writes a column's value according to its storage class.
    mutating func stored(_ value: SQLiteValue) {
        switch value {
        case .null: null()
        case .integer(let number): signed(number)
        case .real(let number): double(number)
        case .text(let text): self.text(text)
        case .blob(let bytes): data(bytes)
        }
    }

    mutating func stored(_ timestamp: Timestamp) {
        unsigned(timestamp.time)
        data(timestamp.member.bytes)
    }
}

extension CBORReader {
    mutating func stored() throws -> SQLiteValue {
        if skipNull() { return .null }
        switch nextMajor {
        case 0, 1: return .integer(try signed())
        case 2: return .blob(Array(try data()).asData)
        case 3: return .text(try text())
        default: return .real(try double())
        }
    }

    mutating func storedTimestamp() throws -> Timestamp {
        let time = try unsigned()
        guard let member = MemberID(try data(count: MemberID.byteCount)) else {
            throw CBORError("no member")
        }
        return Timestamp(time: time, member: member)
    }
}

extension SQLiteValue {
    /// Whether the value is after another in a total order where only identical values are equal.
    ///
    /// It decides between values with one timestamp.
    func isAfter(_ other: SQLiteValue) -> Bool {
        var (left, right) = (CBORWriter(), CBORWriter())
        left.stored(self)
        right.stored(other)
        return right.bytes.lexicographicallyPrecedes(left.bytes)
    }

    /// The canonical form of all values that SQLite treats as equal under a collation: 1 for 1.0,
    /// and text in lower case or without trailing spaces.
    ///
    /// An app's own collations are not known here: under them, only identical text counts as equal.
    package func folded(_ collation: String) -> SQLiteValue {
        switch self {
        case .real(let number): return Int64(exactly: number).map { .integer($0) } ?? self
        case .text(let text):
            if collation.isSameName(as: "NOCASE") { return .text(text.sqlNameKey) }
            guard collation.isSameName(as: "RTRIM") else { return self }
            let bytes = text.utf8
            let end = bytes.lastIndex { $0 != UInt8(ascii: " ") }
            return .text(String(text[..<(end.map { bytes.index(after: $0) } ?? text.startIndex)]))
        default: return self
        }
    }
}
