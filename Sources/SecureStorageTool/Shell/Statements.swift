/// Splits a text into statements, with the lines at which they begin.
struct Statements {
    /// A statement and the line, from 1, at which it begins.
    struct Statement {
        let sql: String
        let line: Int
    }

    private var scanner = StatementScanner()
    private var bytes: [UInt8] = []
    private var line = 1
    private var firstLine = 1

    /// Whether a statement has begun that no semicolon has ended yet.
    var isInStatement: Bool { scanner.hasStatement || scanner.isInside }

    /// Whether the text ends inside quotes or a comment.
    var isInside: Bool { scanner.isInside || scanner.isInLineComment }
    /// The text of the statement that has begun.
    var unfinished: String { String(decoding: bytes, as: UTF8.self) }

    /// Adds more text, and returns the statements that it completes.
    mutating func take(_ text: some Sequence<UInt8>) throws -> [Statement] {
        var complete: [Statement] = []
        for byte in text {
            // Whitespace before a statement does not belong to any.
            if bytes.isEmpty {
                if byte == 0x0a { line += 1 }
                if byte <= 0x20 { continue }
                firstLine = line
            } else if byte == 0x0a {
                line += 1
            }
            bytes.append(byte)
            if scanner.ends(with: byte), let statement = try end() { complete.append(statement) }
        }
        return complete
    }

    /// Returns the rest of the text as a statement without its semicolon.
    mutating func finish() throws -> Statement? {
        // Only the next byte ends a word.
        _ = scanner.ends(with: 0x0a)
        return try end()
    }

    mutating func reset() { self = Statements() }

    private mutating func end() throws -> Statement? {
        defer {
            bytes.removeAll(keepingCapacity: true)
            scanner.reset()
        }
        guard scanner.hasStatement else { return nil }
        let sql = String(decoding: bytes, as: UTF8.self)
        guard sql.utf8.elementsEqual(bytes) else {
            throw Failure("the statement at line \(firstLine) is not UTF-8", .data)
        }
        return Statement(sql: sql, line: firstLine)
    }
}
