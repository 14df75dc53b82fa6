/// Reads the records of a CSV file ([RFC 4180](https://www.rfc-editor.org/rfc/rfc4180)) one at a
/// time.
///
/// Fields remain bytes until they are read, all of one record in a single buffer, so that a record
/// needs no allocations. Lines may also end with a line feed alone, or all of them with a carriage
/// return, and the last one without any.
struct CSVReader {
    /// The line, from 1, at which the current record begins.
    private(set) var line = 0
    var position: Int { input.position }
    var fieldCount: Int { ends.count }

    private let input: InputFile
    private let dialect: CSVDialect
    private var chunk: [UInt8] = []
    private var next = 0
    private var nextLine = 1
    /// Whether the rest of a line is in the way of the next record.
    private var isInBrokenLine = false
    /// The current record: its concatenated fields, and the position where each one ends.
    private var bytes: [UInt8] = []
    private var ends: [Int] = []
    private var quoted: [Bool] = []
    /// The bitwise OR of the current record's bytes; below 0x80 no UTF-8 check is needed.
    private var allBits: UInt8 = 0

    private static let quote = UInt8(ascii: "\"")
    private static let lineFeed = UInt8(ascii: "\n")
    private static let carriageReturn = UInt8(ascii: "\r")

    init(_ input: InputFile, _ dialect: CSVDialect) {
        self.input = input
        self.dialect = dialect
    }

    /// Returns whether a field of the current record is empty and not in quotes.
    func isBlank(_ field: Int) -> Bool { !quoted[field] && start(field) == ends[field] }

    /// Whether nothing is in the line of the current record.
    var isBlankLine: Bool { fieldCount == 1 && isBlank(0) }

    /// Passes the bytes of a field of the current record.
    func withBytes<R>(_ field: Int, _ body: (UnsafeBufferPointer<UInt8>) throws -> R) rethrows -> R
    {
        try bytes.withUnsafeBufferPointer {
            try body(UnsafeBufferPointer(rebasing: $0[start(field)..<ends[field]]))
        }
    }

    /// Returns the text of a field of the current record.
    ///
    /// - Throws: for bytes that are not UTF-8.
    func text(_ field: Int) throws -> String {
        let text = withBytes(field) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            // Decoding replaces invalid UTF-8.
            return allBits < 0x80 || text.utf8.elementsEqual(bytes) ? text : nil
        }
        guard let text else {
            throw Failure(
                "field \(field + 1) is not UTF-8",
                hint: "convert the file first, for example with iconv -f latin1 -t utf-8")
        }
        return text
    }

    private func start(_ field: Int) -> Int { field == 0 ? 0 : ends[field - 1] }

    /// Advances to the next record; returns false at the end.
    ///
    /// After an error it continues with the next line.
    mutating func advance() throws -> Bool {
        if isInBrokenLine { try leaveLine() }
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
        quoted.removeAll(keepingCapacity: true)
        allBits = 0
        guard try fill() else { return false }
        line = nextLine
        isInBrokenLine = true
        while try readField() {}
        isInBrokenLine = false
        return true
    }

    private mutating func leaveLine() throws {
        isInBrokenLine = false
        while try fill() {
            next += 1
            if chunk[next - 1] == dialect.lineEnd {
                nextLine += 1
                return
            }
        }
    }

    /// Makes another byte available; returns false at the end of the file.
    private mutating func fill() throws -> Bool {
        guard next == chunk.count else { return true }
        try input.read(into: &chunk)
        next = 0
        return !chunk.isEmpty
    }

    /// Reads one field; returns false after the last one of the record.
    private mutating func readField() throws -> Bool {
        if try fill(), chunk[next] == Self.quote {
            next += 1
            try readQuoted()
            quoted.append(true)
        } else {
            try readPlain()
            quoted.append(false)
        }
        // The record ends with a carriage return and a line feed.
        if !(quoted.last ?? false), bytes.last == Self.carriageReturn,
            bytes.count > (ends.last ?? 0), try fill() ? chunk[next] == Self.lineFeed : true
        {
            bytes.removeLast()
        }
        ends.append(bytes.count)
        guard try fill() else { return false }
        let byte = chunk[next]
        next += 1
        if byte == dialect.delimiter { return true }
        if byte == dialect.lineEnd {
            nextLine += 1
            return false
        }
        if byte == Self.carriageReturn {
            guard try fill() else { return false }
            if chunk[next] == Self.lineFeed {
                next += 1
                nextLine += 1
                return false
            }
        }
        throw Failure(
            "text follows the closing quote of field \(ends.count)",
            hint: "write a quote inside a field twice")
    }

    /// Reads up to the delimiter or the end of the line, and consumes neither.
    private mutating func readPlain() throws {
        while try fill() {
            let (from, delimiter, lineEnd) = (next, dialect.delimiter, dialect.lineEnd)
            let (end, bits) = chunk.withUnsafeBufferPointer { chunk in
                var (end, bits) = (from, UInt8(0))
                while end < chunk.count, chunk[end] != delimiter, chunk[end] != lineEnd {
                    bits |= chunk[end]
                    end += 1
                }
                return (end, bits)
            }
            allBits |= bits
            bytes.append(contentsOf: chunk[from..<end])
            next = end
            if end < chunk.count { return }
        }
    }

    /// Reads from after the opening quote through the closing one.
    private mutating func readQuoted() throws {
        while try fill() {
            let (from, lineEnd) = (next, dialect.lineEnd)
            let (end, lines, bits) = chunk.withUnsafeBufferPointer { chunk in
                var (end, lines, bits) = (from, 0, UInt8(0))
                while end < chunk.count, chunk[end] != Self.quote {
                    if chunk[end] == lineEnd { lines += 1 }
                    bits |= chunk[end]
                    end += 1
                }
                return (end, lines, bits)
            }
            allBits |= bits
            bytes.append(contentsOf: chunk[from..<end])
            nextLine += lines
            next = end
            guard end < chunk.count else { continue }
            next += 1
            guard try fill(), chunk[next] == Self.quote else { return }
            bytes.append(Self.quote)
            next += 1
        }
        throw Failure("field \(ends.count + 1) has no closing quote")
    }
}
