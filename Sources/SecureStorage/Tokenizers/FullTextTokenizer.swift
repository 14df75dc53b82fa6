/// Cuts texts into the tokens of a full-text index, in Swift.
///
/// ```swift
/// struct Lines: FullTextTokenizer {
///     static let name = "lines"
///
///     init(arguments: [String]) {}
///
///     func tokenize(
///         _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
///         into tokens: borrowing FullTextTokens
///     ) throws {
///         var start = 0
///         let newline = UInt8(ascii: "\n")
///         for line in text.split(separator: newline, omittingEmptySubsequences: false) {
///             let range = start..<start + line.count
///             if !line.isEmpty { try tokens.add(UnsafeBufferPointer(rebasing: line), at: range) }
///             start = range.upperBound + 1
///         }
///     }
/// }
/// ```
///
/// List the type in ``SecureDatabaseConfiguration/tokenizers``, then name it in SQL:
/// `CREATE VIRTUAL TABLE log USING fts5(text, tokenize = 'lines')`. Every program that uses such a
/// table needs the tokenizer, and one that makes the same tokens: after a change of its rules, run
/// `INSERT INTO log(log) VALUES ('rebuild')`. ``CJKTokenizer`` is an example.
///
/// Each connection makes its own instance for each table. It is used by one thread at a time,
/// inside a statement; it must not use the database.
///
/// The corresponding C structure is
/// [`fts5_tokenizer`](https://sqlite.org/fts5.html#custom_tokenizers).
public protocol FullTextTokenizer: Sendable {
    /// The name for SQL: 1 to 255 bytes without NUL, which SQL compares ignoring the case of ASCII
    /// letters; none of SQLite's own `unicode61`, `ascii`, `porter` and `trigram`.
    static var name: String { get }

    /// Makes a tokenizer for one table.
    ///
    /// - Parameter arguments: The words after the name in `tokenize = 'name …'`.
    /// - Throws: Any error; the statement then fails with code `.error`, and with the message of a
    ///   ``SecureDatabaseFunctionError`` or the type of any other error.
    init(arguments: [String]) throws

    /// Cuts one text into tokens.
    ///
    /// - Parameters:
    ///   - text: The bytes, valid during the call: usually UTF-8, but a value or a query may have
    ///     any bytes. Do not assume that they end with a NUL, or contain none.
    ///   - purpose: Why the text is cut.
    ///   - tokens: Receives the tokens, in the order of the text.
    /// - Throws: Any error, as in ``init(arguments:)``, and those of `tokens`, which end the call.
    func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
        into tokens: borrowing FullTextTokens
    ) throws
}

/// Why a text is cut into tokens.
public enum FullTextPurpose: Sendable, Hashable {
    /// A row is stored or removed.
    case document
    /// A word or a phrase of a query.
    case query
    /// A word or a phrase of a query, whose last token is the beginning of the tokens to find.
    case prefixQuery
    /// For an auxiliary function such as `highlight`: a stored text, cut as for ``document``.
    case auxiliary
}

/// Receives the tokens of one text; see ``FullTextTokenizer``.
public struct FullTextTokens: ~Copyable {
    typealias Receiver =
        @convention(c) (
            _ context: UnsafeMutableRawPointer?, _ flags: Int32, _ token: UnsafePointer<CChar>?,
            _ count: Int32, _ start: Int32, _ end: Int32
        ) -> Int32

    /// What the engine has answered, and where the last token was.
    struct State {
        var code: Int32 = 0
        var last = 0..<0
        var isFirst = true
    }

    let context: UnsafeMutableRawPointer?
    let receiver: Receiver
    let textLength: Int
    // The engine's code must not get lost, even if the tokenizer drops the error.
    let state: UnsafeMutablePointer<State>

    /// The engine wants no further token.
    struct Ended: Error {}

    /// Adds the next token.
    ///
    /// - Parameters:
    ///   - token: Its bytes, as the index has them: folded, for instance, to small letters. Only
    ///     the first 32,768 count.
    ///   - range: Its place in the text, in bytes, for `highlight` and `snippet`. Neither bound may
    ///     be less than that of the token before; ranges may overlap.
    /// - Throws: `SecureDatabaseFunctionError` for a range outside of the text or before the last
    ///   one; an error of the engine, to be passed on.
    public func add(_ token: UnsafeBufferPointer<UInt8>, at range: Range<Int>) throws {
        let last = state.pointee.last
        guard range.lowerBound >= last.lowerBound, range.upperBound >= last.upperBound,
            range.upperBound <= textLength
        else {
            throw SecureDatabaseFunctionError(
                "a token at the bytes \(range) is outside of the text of \(textLength) bytes, or "
                    + "before the last token at \(last)")
        }
        state.pointee.last = range
        state.pointee.isFirst = false
        try pass(token, flags: 0)
    }

    /// Adds a token for the place of the last one, such as a synonym, which is found there too.
    ///
    /// - Parameter token: Its bytes.
    /// - Throws: `SecureDatabaseFunctionError` if there is no token yet; an error of the engine, to
    ///   be passed on.
    public func addSynonym(_ token: UnsafeBufferPointer<UInt8>) throws {
        guard !state.pointee.isFirst else {
            throw SecureDatabaseFunctionError("the first token of a text cannot be a synonym")
        }
        // FTS5_TOKEN_COLOCATED.
        try pass(token, flags: 1)
    }

    /// Adds the next token, as text.
    ///
    /// - Parameters:
    ///   - token: The token.
    ///   - range: Its place in the text, in bytes.
    /// - Throws: As for bytes.
    public func add(_ token: String, at range: Range<Int>) throws {
        var token = token
        try token.withUTF8 { try add($0, at: range) }
    }

    /// Adds a token for the place of the last one, as text.
    ///
    /// - Parameter token: The token.
    /// - Throws: As for bytes.
    public func addSynonym(_ token: String) throws {
        var token = token
        try token.withUTF8 { try addSynonym($0) }
    }

    private func pass(_ token: UnsafeBufferPointer<UInt8>, flags: Int32) throws {
        guard state.pointee.code == 0 else { throw Ended() }
        let range = state.pointee.last
        let count = Int32(min(token.count, 32_768))
        // The engine would take a missing token for no memory.
        let code = withUnsafePointer(to: CChar(0)) { empty in
            let bytes = UnsafeRawPointer(token.baseAddress)?.assumingMemoryBound(to: CChar.self)
            return receiver(
                context, flags, bytes ?? empty, count, Int32(range.lowerBound),
                Int32(range.upperBound))
        }
        guard code == 0 else {
            state.pointee.code = code
            throw Ended()
        }
    }
}
