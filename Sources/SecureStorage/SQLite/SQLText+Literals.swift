/// Removes what may be a value from SQL that was prepared.
extension SQLText {
    /// Returns `sql` with `?` for each literal, one blank for blanks and comments, and of limited
    /// length.
    ///
    /// A text in double quotes is a name: the engine's connections do not accept it as a string.
    /// Only ATTACH, DETACH and VACUUM do, and also words without quotes; of these only SQL's own
    /// words stay. So it is with the names of savepoints, which are an app's own at each use. The
    /// arguments of a PRAGMA are left out whole.
    static func withoutLiterals(_ sql: String) -> String {
        var text = sql
        return text.withUTF8 { bytes in
            var writer = LiteralFreeText(bytes)
            return writer.text()
        }
    }
}

/// Reads SQL word by word, as SQLite's tokenizer does, and writes it without literals.
private struct LiteralFreeText {
    private static let limit = 4096
    private static let keptWords: Set<String> = [
        "ATTACH", "DATABASE", "AS", "KEY", "DETACH", "VACUUM", "INTO", "EXPLAIN", "QUERY", "PLAN",
        "SAVEPOINT", "RELEASE", "ROLLBACK", "TRANSACTION", "TO",
    ]
    private static let hidingWords: Set<String> = [
        "ATTACH", "DETACH", "VACUUM", "SAVEPOINT", "RELEASE", "ROLLBACK",
    ]

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var output: [UInt8] = []
    private var needsBlank = false
    /// Whether words that are not SQL's own may be values.
    private var hidesWords = false
    private var isPragma = false
    /// Whether the statement's first word, after EXPLAIN, was read.
    private var knowsKind = false

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
        output.reserveCapacity(min(bytes.count, Self.limit) + 4)
    }

    mutating func text() -> String {
        while position < bytes.count {
            guard output.count <= Self.limit else {
                // Whole tokens only, so no character was cut.
                output += Array("…".utf8)
                break
            }
            readToken()
        }
        return String(decoding: output, as: UTF8.self)
    }

    private mutating func readToken() {
        let start = position
        let byte = bytes[start]
        switch byte {
        case UInt8(ascii: " "), 0x09...0x0d, 0:
            position += 1
            needsBlank = true
        case 0xef where next(1) == 0xbb && next(2) == 0xbf:
            // A byte-order mark is a blank to SQLite.
            position += 3
            needsBlank = true
        case UInt8(ascii: "-") where next(1) == UInt8(ascii: "-"):
            skip { $0 != UInt8(ascii: "\n") }
            needsBlank = true
        case UInt8(ascii: "/") where next(1) == UInt8(ascii: "*"):
            skipComment()
            needsBlank = true
        case UInt8(ascii: "'"):
            skipQuoted(byte)
            write(UInt8(ascii: "?"))
        case UInt8(ascii: "\""), UInt8(ascii: "`"):
            skipQuoted(byte)
            if hidesWords { write(UInt8(ascii: "?")) } else { write(from: start) }
        case UInt8(ascii: "["):
            skip { $0 != UInt8(ascii: "]") }
            position = min(position + 1, bytes.count)
            if hidesWords { write(UInt8(ascii: "?")) } else { write(from: start) }
        case UInt8(ascii: "?"), UInt8(ascii: ":"), UInt8(ascii: "@"), UInt8(ascii: "$"),
            UInt8(ascii: "#"):
            position += 1
            skip(while: Self.isInWord)
            write(from: start)
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            skipNumber()
            write(UInt8(ascii: "?"))
        case UInt8(ascii: ".") where next(1).map(Self.isDigit) == true:
            skipNumber()
            write(UInt8(ascii: "?"))
        case UInt8(ascii: "x") where next(1) == UInt8(ascii: "'"),
            UInt8(ascii: "X") where next(1) == UInt8(ascii: "'"):
            position += 1
            skipQuoted(UInt8(ascii: "'"))
            write(UInt8(ascii: "?"))
        case UInt8(ascii: "="), UInt8(ascii: "("):
            position += 1
            write(from: start)
            guard isPragma else { return }
            write(UInt8(ascii: "?"))
            if byte == UInt8(ascii: "(") { write(UInt8(ascii: ")")) }
            position = bytes.count
        case _ where Self.isInWord(byte):
            skip(while: Self.isInWord)
            writeWord(from: start)
        default:
            position += 1
            write(from: start)
        }
    }

    private mutating func writeWord(from start: Int) {
        let mayMatter = hidesWords || !knowsKind
        let word =
            mayMatter ? String(decoding: bytes[start..<position], as: UTF8.self).uppercased() : ""
        if !knowsKind, !["EXPLAIN", "QUERY", "PLAN"].contains(word) {
            knowsKind = true
            isPragma = word == "PRAGMA"
            hidesWords = Self.hidingWords.contains(word)
        }
        guard hidesWords, !Self.keptWords.contains(word) else { return write(from: start) }
        write(UInt8(ascii: "?"))
    }

    // MARK: - Writing

    private mutating func write(_ byte: UInt8) {
        writeBlank()
        output.append(byte)
    }

    private mutating func write(from start: Int) {
        writeBlank()
        output += bytes[start..<position]
    }

    private mutating func writeBlank() {
        if needsBlank, !output.isEmpty { output.append(UInt8(ascii: " ")) }
        needsBlank = false
    }

    // MARK: - Reading

    private func next(_ distance: Int) -> UInt8? {
        position + distance < bytes.count ? bytes[position + distance] : nil
    }

    private mutating func skip(while isIncluded: (UInt8) -> Bool) {
        while position < bytes.count, isIncluded(bytes[position]) { position += 1 }
    }

    /// A quote that is doubled does not end the text; one that is not closed reaches to the end.
    private mutating func skipQuoted(_ quote: UInt8) {
        position += 1
        while position < bytes.count {
            skip { $0 != quote }
            position = min(position + 1, bytes.count)
            guard position < bytes.count, bytes[position] == quote else { return }
            position += 1
        }
    }

    private mutating func skipComment() {
        position += 2
        while position < bytes.count {
            if bytes[position] == UInt8(ascii: "*"), next(1) == UInt8(ascii: "/") {
                position += 2
                return
            }
            position += 1
        }
    }

    /// Digits, the sign of an exponent included.
    private mutating func skipNumber() {
        let isHexadecimal = next(1).map { $0 | 0x20 == UInt8(ascii: "x") } == true
        var last: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            let isOfExponent = isSign && !isHexadecimal && last | 0x20 == UInt8(ascii: "e")
            guard Self.isInWord(byte) || byte == UInt8(ascii: ".") || isOfExponent else { return }
            last = byte
            position += 1
        }
    }

    private static func isDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }

    /// As in SQLite's names, every non-ASCII byte is a letter.
    private static func isInWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}
