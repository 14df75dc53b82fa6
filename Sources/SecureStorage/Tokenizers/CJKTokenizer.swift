/// A tokenizer for texts with Chinese, Japanese and Korean, which are written without spaces, among
/// words of other languages.
///
/// ```sql
/// CREATE VIRTUAL TABLE note_text USING fts5(text, tokenize = 'cjk');
/// ```
///
/// Each character of Han, Hiragana, Katakana and Hangul is found by itself, and the pairs of
/// adjacent ones (bigrams) are in the index, so that a word of several characters is found quickly.
/// Other letters and digits form words, which are compared without case and, unless
/// `tokenize = 'cjk remove_diacritics 0'` says otherwise, without the diacritics of Latin, Greek,
/// Cyrillic, Hebrew and Arabic. Composed and decomposed spellings are the same, as are full-width
/// and ordinary Latin letters and digits; everything else, such as emoji, separates words. It needs
/// no dictionary and no ICU.
///
/// A query of several characters is a phrase, which needs the default, `detail = full`. Languages
/// that also write without spaces, such as Thai, are not cut.
public struct CJKTokenizer: FullTextTokenizer {
    /// `cjk`.
    public static let name = "cjk"

    private let folding: ScalarFolding

    /// Makes a tokenizer for one table.
    ///
    /// - Parameter arguments: None, or `remove_diacritics` with `0` or `1`.
    /// - Throws: `SecureDatabaseFunctionError` for any others.
    public init(arguments: [String]) throws {
        switch arguments {
        case [], ["remove_diacritics", "1"]: folding = .withoutDiacritics
        case ["remove_diacritics", "0"]: folding = .withDiacritics
        default:
            throw SecureDatabaseFunctionError(
                "the tokenizer cjk accepts remove_diacritics 0 or 1, and nothing else")
        }
    }

    /// Cuts one text into tokens.
    ///
    /// - Parameters:
    ///   - text: Any bytes; those that are not UTF-8 separate words.
    ///   - purpose: A query is looked up by its bigrams; a stored text has single characters as
    ///     well.
    ///   - tokens: Receives the tokens.
    /// - Throws: The errors of `tokens`.
    public func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
        into tokens: borrowing FullTextTokens
    ) throws {
        var cut = CJKCut(isQuery: purpose == .query || purpose == .prefixQuery)
        var position = 0
        while position < text.count {
            let start = position
            let scalar = UTF8Decoding.next(in: text, &position)
            let folded = scalar.map { folding.fold($0) } ?? .separator
            try cut.take(folded, start..<position, into: tokens)
        }
        try cut.finish(into: tokens)
    }
}

/// The word or the run of characters that is being read.
private struct CJKCut {
    let isQuery: Bool
    private var word: [UInt8] = []
    private var wordRange = 0..<0
    /// The last character of a run; it is added when the next one is known.
    private var character: UInt32?
    private var characterRange = 0..<0

    init(isQuery: Bool) {
        self.isQuery = isQuery
        word.reserveCapacity(64)
    }

    @inline(__always)
    mutating func take(
        _ folded: FoldedScalar, _ range: Range<Int>, into tokens: borrowing FullTextTokens
    ) throws {
        switch folded.kind {
        case .letter:
            if character != nil { try addCharacter(before: nil, into: tokens) }
            if word.isEmpty { wordRange = range }
            append(folded.value)
            wordRange = wordRange.lowerBound..<range.upperBound
        case .separator:
            try finish(into: tokens)
        case .character:
            if !word.isEmpty { try addWord(into: tokens) }
            if let last = character {
                if let joined = Composition.join(last, folded.value) {
                    character = joined
                    characterRange = characterRange.lowerBound..<range.upperBound
                    return
                }
                try addCharacter(before: folded.value, into: tokens)
            }
            character = folded.value
            characterRange = range
        case .mark, .droppedMark:
            if !word.isEmpty {
                if folded.kind == .mark { append(folded.value) }
                wordRange = wordRange.lowerBound..<range.upperBound
            } else if let last = character {
                character = Composition.join(last, folded.value) ?? last
                characterRange = characterRange.lowerBound..<range.upperBound
            }
        }
    }

    mutating func finish(into tokens: borrowing FullTextTokens) throws {
        if !word.isEmpty { try addWord(into: tokens) }
        if character != nil { try addCharacter(before: nil, into: tokens) }
    }

    private mutating func addWord(into tokens: borrowing FullTextTokens) throws {
        try word.withUnsafeBufferPointer { try tokens.add($0, at: wordRange) }
        word.removeAll(keepingCapacity: true)
    }

    /// Adds the last character of the run so far.
    ///
    /// The token of each place is the character, with its exact range; the pair with the next one
    /// is a synonym of it. In a query, the pair alone is more selective, and the last
    /// character ends the phrase, so that `highlight` covers all of it.
    private mutating func addCharacter(
        before next: UInt32?, into tokens: borrowing FullTextTokens
    ) throws {
        guard let character else { return }
        // A word is never read while a run is.
        append(character)
        let length = word.count
        if let next { append(next) }
        defer {
            word.removeAll(keepingCapacity: true)
            self.character = nil
        }
        try word.withUnsafeBufferPointer { bytes in
            if isQuery { return try tokens.add(bytes, at: characterRange) }
            try tokens.add(UnsafeBufferPointer(rebasing: bytes[..<length]), at: characterRange)
            if next != nil { try tokens.addSynonym(bytes) }
        }
    }

    /// Appends the UTF-8 of a scalar.
    @inline(__always)
    private mutating func append(_ value: UInt32) {
        if value < 0x80 { return word.append(UInt8(value)) }
        guard let scalar = Unicode.Scalar(value) else { return }
        word.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
    }
}

/// Reads UTF-8 that may be damaged.
private enum UTF8Decoding {
    /// Returns the scalar at a position, which advances past it; nil for a byte that begins none,
    /// and then by that byte alone.
    @inline(__always)
    static func next(in text: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> UInt32? {
        let first = text[position]
        position += 1
        if first < 0x80 { return UInt32(first) }
        let (length, smallest): (Int, UInt32)
        switch first {
        case 0xc2...0xdf: (length, smallest) = (1, 0x80)
        case 0xe0...0xef: (length, smallest) = (2, 0x800)
        case 0xf0...0xf4: (length, smallest) = (3, 0x1_0000)
        default: return nil
        }
        guard text.count - position >= length else { return nil }
        var value = UInt32(first) & (0x3f >> UInt32(length))
        for offset in 0..<length {
            let byte = text[position + offset]
            guard byte & 0xc0 == 0x80 else { return nil }
            value = value << 6 | UInt32(byte & 0x3f)
        }
        // Overlong forms, surrogates, and what is beyond Unicode.
        guard value >= smallest, value <= 0x10_ffff, !(0xd800...0xdfff).contains(value) else {
            return nil
        }
        position += length
        return value
    }
}
