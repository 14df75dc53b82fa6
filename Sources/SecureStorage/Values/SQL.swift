/// A statement with its values, written as one literal: what is interpolated is bound, never
/// spliced into the text.
///
/// ```swift
/// let notes = try await pool.fetchAll(
///     Note.self, "SELECT * FROM note WHERE folder = \(folder) AND id IN \(ids)")
/// ```
///
/// | Interpolation | In the statement |
/// |---|---|
/// | `\(value)` | a placeholder; nil is NULL, a `Date` is REAL, seconds since 1970 |
/// | `\(values)` | a placeholder for each value, in parentheses: `IN \(ids)` |
/// | `\(sql)` | another `SQL` with its values |
/// | `\(identifier: name)` | the name of a table or a column, quoted |
/// | `\(columnsOf: "folder")` | all columns of a table, named for a nested property |
/// | `\(raw: text)` | the text as it is: never one that a user can choose |
///
/// Parts are joined with `+` and `+=`:
///
/// ```swift
/// var query: SQL = "SELECT * FROM note"
/// if let folder { query += " WHERE folder = \(folder)" }
/// let found = try db.fetchAll(Note.self, query + " ORDER BY at DESC")
/// ```
///
/// A text from elsewhere is ``init(raw:values:)``. `[UInt8]` and `Data` are one value, a BLOB.
public struct SQL: Sendable, ExpressibleByStringInterpolation {
    /// The statement if it is one text; what is prepared for a literal is found by its place.
    let literal: String
    /// Otherwise its pieces.
    private(set) var pieces: [Piece]
    private(set) var extras = Extras()

    /// A text and the value after it.
    @usableFromInline
    struct Piece: Sendable {
        @usableFromInline let text: String
        @usableFromInline let value: SQLiteValue
        @usableFromInline let kind: Kind

        @usableFromInline
        enum Kind: Sendable {
            case onlyText
            /// A placeholder and its value follow the text.
            case value
            /// The value of a placeholder that is in a text follows.
            case argument
        }

        @inlinable
        init(text: String, value: SQLiteValue = .null, kind: Kind = .onlyText) {
            self.text = text
            self.value = value
            self.kind = kind
        }
    }

    /// What few statements have.
    @usableFromInline
    struct Extras: Sendable {
        /// All columns of tables, which only a database knows.
        var lists: [ColumnList] = []
        /// Why a value cannot be bound.
        var failure: (any Error)?

        @usableFromInline
        init() {}

        /// Returns a value as it is stored; NULL for one that cannot be, whose error the statement
        /// has then.
        mutating func stored(_ value: (any SQLiteDatatypeBridgeable)?) -> SQLiteValue {
            do {
                return try SQLiteValue(storing: value)
            } catch {
                failure = failure ?? error
                return .null
            }
        }
    }

    struct ColumnList: Sendable {
        /// The piece whose text they follow.
        var piece: Int
        let table: String
        let name: String
    }

    /// A statement without values.
    public init(stringLiteral text: String) {
        literal = text
        pieces = []
    }

    /// A statement with the values that were interpolated.
    public init(stringInterpolation: StringInterpolation) {
        literal = ""
        pieces = stringInterpolation.allPieces
        extras = stringInterpolation.extras
    }

    /// A statement whose text is made at run time.
    ///
    /// - Parameters:
    ///   - text: SQL, never from a user.
    ///   - values: One per `?` placeholder, in order; nil is NULL.
    public init(raw text: String, values: [(any SQLiteDatatypeBridgeable)?] = []) {
        var extras = Extras()
        let stored = values.map { extras.stored($0) }
        self.init(raw: text, stored: stored, extras)
    }

    init(raw text: String, stored values: [SQLiteValue], _ extras: Extras = Extras()) {
        literal = values.isEmpty ? text : ""
        pieces = values.isEmpty ? [] : [Piece(text: text)]
        self.extras = extras
        pieces += values.map { Piece(text: "", value: $0, kind: .argument) }
    }

    /// Joins two parts of a statement.
    public static func + (left: SQL, right: SQL) -> SQL {
        var interpolation = StringInterpolation(literalCapacity: 0, interpolationCount: 2)
        interpolation.appendInterpolation(left)
        interpolation.appendInterpolation(right)
        return SQL(stringInterpolation: interpolation)
    }

    /// Appends a part of a statement.
    public static func += (left: inout SQL, right: SQL) { left = left + right }

    /// Appends this statement to the pieces of another one.
    func append(to pieces: inout [Piece], _ extras: inout Extras) {
        extras.lists += self.extras.lists.map {
            ColumnList(piece: $0.piece + pieces.count, table: $0.table, name: $0.name)
        }
        extras.failure = extras.failure ?? self.extras.failure
        pieces += self.pieces.isEmpty ? [Piece(text: literal)] : self.pieces
    }

    var hasValues: Bool { pieces.contains { $0.kind != .onlyText } }

    /// Whether a value follows ORDER BY or GROUP BY, where a name is meant: it would sort nothing.
    var hasValueAsOrder: Bool {
        pieces.contains { piece in
            let end = piece.text.suffix(16).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ").uppercased()
            return piece.kind == .value && (end.hasSuffix("ORDER BY") || end.hasSuffix("GROUP BY"))
        }
    }

    /// Whether the text depends on nothing but the pieces.
    @inline(__always)
    var isKnown: Bool { extras.lists.isEmpty && extras.failure == nil }

    /// - Throws: What `columns` throws.
    func text(columns: (ColumnList) throws -> String) rethrows -> String {
        var result = ""
        var lists = extras.lists[...]
        for (index, piece) in pieces.enumerated() {
            result += piece.text
            while let list = lists.first, list.piece == index {
                result += try columns(list)
                lists.removeFirst()
            }
            if piece.kind == .value { result += "?" }
        }
        return result
    }
}

extension SQL: CustomReflectable {
    /// Without the values, which may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["text": description]) }
}
