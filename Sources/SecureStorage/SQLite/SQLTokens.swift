/// The tokens of SQL, as [SQLite's tokenizer](https://sqlite.org/src/file/src/tokenize.c) splits it:
/// the only place that knows where words, quotes and comments end.
///
/// Quotes and comments that are not closed reach to the end.
package struct SQLTokens: Sequence, IteratorProtocol {
    package enum Kind: Sendable {
        /// One blank, or a byte-order mark, which is a blank to SQLite.
        case blank
        case comment
        /// As in SQLite's names, every byte that is not ASCII is a letter.
        case word
        /// In double quotes, backticks or brackets.
        case quotedName
        case text, blob, number, parameter
        /// Any other byte.
        case other
    }

    package struct Token: Sendable {
        package var kind: Kind
        package var first: UInt8
        /// The places of its bytes.
        package var range: Range<Int>

        package var isIgnored: Bool { kind == .blank || kind == .comment }
        package func isByte(_ byte: Unicode.Scalar) -> Bool {
            kind == .other && first == UInt8(ascii: byte)
        }
    }

    private let start: UnsafePointer<UInt8>?
    /// The number of bytes; nil for a text up to its NUL.
    private let count: Int?
    private var position = 0

    package init(_ bytes: UnsafeBufferPointer<UInt8>) {
        (start, count) = (bytes.baseAddress, bytes.count)
    }

    package init(cString: UnsafePointer<CChar>) {
        start = UnsafeRawPointer(cString).assumingMemoryBound(to: UInt8.self)
        count = nil
    }

    /// The byte at a place that is not after the end; nil at the end.
    private subscript(place: Int) -> UInt8? {
        guard let start, place < count ?? .max else { return nil }
        let byte = start[place]
        return byte == 0 && count == nil ? nil : byte
    }

    package mutating func next() -> Token? {
        let start = position
        guard let first = self[start] else { return nil }
        position += 1
        let kind = skip(from: first)
        return Token(kind: kind, first: first, range: start..<position)
    }

    /// Moves behind the token that begins with a byte.
    private mutating func skip(from first: UInt8) -> Kind {
        let second = self[position]
        switch Unicode.Scalar(first) {
        case " ", "\t"..."\r", "\0": return .blank
        case "\u{ef}" where second == 0xbb && self[position + 1] == 0xbf:
            position += 2
            return .blank
        case "-" where second == first:
            skip { $0 != UInt8(ascii: "\n") }
            return .comment
        case "/" where second == UInt8(ascii: "*"):
            position += 1
            skipComment()
            return .comment
        case "'":
            skipQuoted(first)
            return .text
        case "\"", "`":
            skipQuoted(first)
            return .quotedName
        case "[":
            skip { $0 != UInt8(ascii: "]") }
            if self[position] != nil { position += 1 }
            return .quotedName
        case "x" where second == UInt8(ascii: "'"), "X" where second == UInt8(ascii: "'"):
            position += 1
            skipQuoted(UInt8(ascii: "'"))
            return .blob
        case "?", ":", "@", "$", "#":
            skip(while: Self.isInWord)
            return .parameter
        case "0"..."9",
            "." where (0x30...0x39).contains(second ?? 0):
            skipNumber(from: first)
            return .number
        case _ where Self.isInWord(first):
            skip(while: Self.isInWord)
            return .word
        default: return .other
        }
    }

    private mutating func skip(while isIncluded: (UInt8) -> Bool) {
        while let byte = self[position], isIncluded(byte) { position += 1 }
    }

    /// A doubled quote does not end the text.
    private mutating func skipQuoted(_ quote: UInt8) {
        while true {
            skip { $0 != quote }
            guard self[position] != nil else { return }
            position += 1
            guard self[position] == quote else { return }
            position += 1
        }
    }

    private mutating func skipComment() {
        while let byte = self[position] {
            position += 1
            if byte == UInt8(ascii: "*"), self[position] == UInt8(ascii: "/") {
                position += 1
                return
            }
        }
    }

    /// Digits, the sign of an exponent included.
    private mutating func skipNumber(from first: UInt8) {
        let isHexadecimal = self[position].map { $0 | 0x20 == UInt8(ascii: "x") } ?? false
        var last = first
        while let byte = self[position] {
            let isSign = byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
            let isOfExponent = isSign && !isHexadecimal && last | 0x20 == UInt8(ascii: "e")
            guard Self.isInWord(byte) || byte == UInt8(ascii: ".") || isOfExponent else { return }
            last = byte
            position += 1
        }
    }

    package static func isInWord(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }
}

/// A token that is neither a blank nor a comment, with its text.
package struct SQLWord: Equatable, Sendable {
    package var kind: SQLTokens.Kind
    package var text: String
    /// Whether a blank or a comment is before it.
    package var isApart: Bool
    /// The place behind its last byte.
    package var end: Int

    /// Splits SQL into its words, names, texts and so on.
    package static func all(in sql: String) -> [SQLWord] {
        var words: [SQLWord] = []
        each(in: sql) {
            words.append($0)
            return true
        }
        return words
    }

    /// The first words of the first statement.
    package static func first(_ count: Int, of sql: String) -> [SQLWord] {
        var words: [SQLWord] = []
        each(in: sql) {
            if !words.isEmpty || $0.text != ";" { words.append($0) }
            return words.count < count
        }
        return words
    }

    /// Calls `body` until it returns false.
    private static func each(in sql: String, _ body: (SQLWord) -> Bool) {
        var (sql, isApart) = (sql, false)
        sql.withUTF8 { bytes in
            for token in SQLTokens(bytes) {
                if !token.isIgnored {
                    let text = String(decoding: bytes[token.range], as: UTF8.self)
                    let word = SQLWord(
                        kind: token.kind, text: text, isApart: isApart, end: token.range.upperBound)
                    guard body(word) else { return }
                }
                isApart = token.isIgnored
            }
        }
    }

    /// A word in capitals; nothing for other tokens.
    package var keyword: String { kind == .word ? text.uppercased() : "" }

    /// A name or a text without its quotes.
    package var unquoted: String {
        guard kind == .quotedName || kind == .text, let quote = text.utf8.first else { return text }
        var bytes: [UInt8] = []
        var isDoubled = false
        for byte in text.utf8.dropFirst().dropLast() {
            isDoubled = byte == quote && !isDoubled
            if !isDoubled || quote == UInt8(ascii: "[") { bytes.append(byte) }
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
