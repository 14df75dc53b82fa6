internal import SecureStorage

/// Finds the ends of SQL statements byte by byte, like
/// [`sqlite3_complete`](https://sqlite.org/c3ref/complete.html): at a semicolon outside quotes,
/// comments and the body of a trigger.
struct StatementScanner {
    /// The classes of words and characters for the states below, in the order of the table.
    private enum Token: Int {
        case semicolon, other, explain, create, temporary, trigger, end
    }

    private enum State: Int {
        /// Only whitespace so far, which is not a statement.
        case invalid
        /// After a statement.
        case start
        case normal, explain, create
        case trigger, triggerSemicolon, triggerEnd
    }

    /// The context of the next byte.
    private enum Place {
        case plain, word
        case quoted(UInt8)
        case dash, lineComment
        case slash, comment, commentStar
    }

    // From SQLite's complete.c, without the column for whitespace, which changes nothing.
    private static let table: [[State]] = [
        // semicolon, other, explain, create, temporary, trigger, end
        [.start, .normal, .explain, .create, .normal, .normal, .normal],
        [.start, .normal, .explain, .create, .normal, .normal, .normal],
        [.start, .normal, .normal, .normal, .normal, .normal, .normal],
        [.start, .explain, .normal, .create, .normal, .normal, .normal],
        [.start, .normal, .normal, .normal, .create, .trigger, .normal],
        [.triggerSemicolon, .trigger, .trigger, .trigger, .trigger, .trigger, .trigger],
        [.triggerSemicolon, .trigger, .trigger, .trigger, .trigger, .trigger, .triggerEnd],
        [.start, .trigger, .trigger, .trigger, .trigger, .trigger, .trigger],
    ]

    private var state = State.invalid
    private var place = Place.plain
    private var word: [UInt8] = []
    /// Whether anything but whitespace, comments and semicolons has occurred since the last end.
    private(set) var hasStatement = false

    /// Whether the text so far ends inside quotes or a comment between `/*` and `*/`.
    var isInside: Bool {
        switch place {
        case .quoted, .comment, .commentStar: true
        default: false
        }
    }

    /// Whether the text so far ends inside a comment after `--`.
    var isInLineComment: Bool {
        if case .lineComment = place { true } else { false }
    }

    /// Processes the next byte; returns true when it is the semicolon that ends a statement.
    mutating func ends(with byte: UInt8) -> Bool {
        switch place {
        case .quoted(let end):
            // A doubled quote ends one text and begins the next, with the same result.
            if byte == end { place = .plain }
            return false
        case .lineComment:
            if byte == 0x0a { place = .plain }
            return false
        case .comment:
            if byte == UInt8(ascii: "*") { place = .commentStar }
            return false
        case .commentStar:
            if byte == UInt8(ascii: "/") {
                place = .plain
            } else if byte != UInt8(ascii: "*") {
                place = .comment
            }
            return false
        case .dash:
            if byte == UInt8(ascii: "-") {
                place = .lineComment
                return false
            }
            take(.other)
            place = .plain
        case .slash:
            if byte == UInt8(ascii: "*") {
                place = .comment
                return false
            }
            take(.other)
            place = .plain
        case .word:
            if SQLTokens.isInWord(byte) {
                // Longer than any relevant word.
                if word.count < 16 { word.append(byte) }
                // Only at the beginning of a word; inside a word it is part of it.
                if word == byteOrderMark { place = .plain }
                return false
            }
            endWord()
        case .plain: break
        }
        return begins(byte)
    }

    /// Returns how many of the next bytes can be passed over, since they change nothing.
    ///
    /// These are those inside quotes, and in a statement other than CREATE all but those that begin
    /// something else.
    mutating func skippable(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
        var count = 0
        switch place {
        case .quoted(let end):
            while count < bytes.count, bytes[count] != end { count += 1 }
        case .plain, .word:
            // No word matters to this state.
            guard state == .normal else { return 0 }
            place = .plain
            while count < bytes.count, !Self.beginsSomething(bytes[count]) { count += 1 }
        default: break
        }
        return count
    }

    private static func beginsSomething(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ";"), UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"),
            UInt8(ascii: "["), UInt8(ascii: "-"), UInt8(ascii: "/"):
            true
        default: false
        }
    }

    private mutating func begins(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ";"):
            take(.semicolon)
            return state == .start
        case 0x09...0x0d, 0x20: break
        case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
            take(.other)
            place = .quoted(byte)
        case UInt8(ascii: "["):
            take(.other)
            place = .quoted(UInt8(ascii: "]"))
        case UInt8(ascii: "-"): place = .dash
        case UInt8(ascii: "/"): place = .slash
        case _ where SQLTokens.isInWord(byte):
            word = [byte]
            place = .word
        default: take(.other)
        }
        return false
    }

    private mutating func endWord() {
        place = .plain
        switch String(decoding: word, as: UTF8.self).lowercased() {
        case "explain": take(.explain)
        case "create": take(.create)
        case "temp", "temporary": take(.temporary)
        case "trigger": take(.trigger)
        case "end": take(.end)
        default: take(.other)
        }
    }

    private mutating func take(_ token: Token) {
        if token != .semicolon { hasStatement = true }
        state = Self.table[state.rawValue][token.rawValue]
    }

    /// Discards the state and starts with a new statement.
    mutating func reset() { self = StatementScanner() }
}

/// U+FEFF in UTF-8, which SQLite treats as whitespace before and between words.
private let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

/// Returns the first words of a statement in upper case.
func leadingWords(_ sql: String, _ count: Int) -> [String] {
    Array(SQLWord.first(count, of: sql).map(\.keyword).prefix { !$0.isEmpty })
}
