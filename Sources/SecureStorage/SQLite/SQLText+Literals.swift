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
            for token in SQLTokens(bytes) {
                guard writer.output.count <= LiteralFreeText.limit else {
                    // Whole tokens only, so no character was cut.
                    writer.output += Array("…".utf8)
                    break
                }
                if !writer.write(token) { break }
            }
            return String(decoding: writer.output, as: UTF8.self)
        }
    }
}

/// Writes SQL, token by token, without literals.
private struct LiteralFreeText {
    static let limit = 4096
    private static let keptWords: Set<String> = [
        "ATTACH", "DATABASE", "AS", "KEY", "DETACH", "VACUUM", "INTO", "EXPLAIN", "QUERY", "PLAN",
        "SAVEPOINT", "RELEASE", "ROLLBACK", "TRANSACTION", "TO",
    ]
    private static let hidingWords: Set<String> = [
        "ATTACH", "DETACH", "VACUUM", "SAVEPOINT", "RELEASE", "ROLLBACK",
    ]

    private let bytes: UnsafeBufferPointer<UInt8>
    var output: [UInt8] = []
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

    /// Returns false for the last token that is shown.
    mutating func write(_ token: SQLTokens.Token) -> Bool {
        switch token.kind {
        case .blank, .comment: needsBlank = true
        case .text, .blob, .number: write("?".utf8)
        case .quotedName where hidesWords: write("?".utf8)
        case .word: writeWord(token.range)
        case .quotedName, .parameter, .other: write(bytes[token.range])
        }
        guard isPragma, token.isByte("=") || token.isByte("(") else { return true }
        write("?".utf8)
        if token.isByte("(") { write(")".utf8) }
        return false
    }

    private mutating func writeWord(_ range: Range<Int>) {
        let mayMatter = hidesWords || !knowsKind
        let word = mayMatter ? String(decoding: bytes[range], as: UTF8.self).uppercased() : ""
        if !knowsKind, !["EXPLAIN", "QUERY", "PLAN"].contains(word) {
            knowsKind = true
            isPragma = word == "PRAGMA"
            hidesWords = Self.hidingWords.contains(word)
        }
        guard hidesWords, !Self.keptWords.contains(word) else { return write(bytes[range]) }
        write("?".utf8)
    }

    private mutating func write(_ bytes: some Sequence<UInt8>) {
        if needsBlank, !output.isEmpty { output.append(UInt8(ascii: " ")) }
        needsBlank = false
        output += bytes
    }
}
