internal import Foundation
internal import SecureStorage

/// A table or view in the list.
struct TableEntry: Equatable, Sendable {
    let name: String
    let kind: Kind

    enum Kind: String, Sendable {
        case table, view
        case virtualTable = "virtual table"
    }
}

/// The number of rows, as far as it was counted.
enum RowCount: Equatable, Sendable {
    case exactly(Int)
    case moreThan(Int)
    /// Counting took too long or failed.
    case unknown

    var text: String {
        switch self {
        case .exactly(let count): String(count)
        case .moreThan(let count): "> \(count)"
        case .unknown: "?"
        }
    }
}

/// The columns of a table, and how its rows are found again.
struct TableShape: Equatable, Sendable {
    let name: String
    let kind: TableEntry.Kind
    let columns: [String]
    let key: KeyShape

    /// Whether single rows can be named, and so changed.
    var hasRows: Bool { kind == .table && key != .offset }
}

/// The order of the rows, which pages follow.
enum KeyShape: Equatable, Sendable {
    /// `rowid`, or a synonym that no column hides.
    case rowID(String)
    /// The primary key of a WITHOUT ROWID table.
    case primaryKey([Column])
    /// Views have no key: rows are counted from the first.
    case offset

    struct Column: Equatable, Sendable {
        let name: String
        /// nil if it is the column's own.
        let collation: String?
        let isDescending: Bool
    }
}

/// Where a row is.
enum RowKey: Equatable, Sendable {
    case values([Part])
    /// The number of rows before it.
    case offset(Int)

    struct Part: Equatable, Sendable {
        let value: SQLiteValue
        /// Text is kept as its bytes, since it need not be UTF-8.
        let isText: Bool

        var placeholder: String { isText ? "CAST(? AS TEXT)" : "?" }
    }

    /// The key for people; a text in it is cut.
    var text: String {
        switch self {
        case .offset(let count): "\(count + 1)"
        case .values(let parts):
            parts.map { part in
                guard part.isText, case .blob(let bytes) = part.value else {
                    return ValueText.shown(part.value)
                }
                return DisplayWidth.cut(
                    Visible.text(String(decoding: bytes.prefix(160), as: UTF8.self)), to: 40)
            }.joined(separator: ", ")
        }
    }
}

/// A row with the beginnings of its values.
struct BrowsedRow: Equatable, Sendable {
    let key: RowKey
    let cells: [Cell]

    struct Cell: Equatable, Sendable {
        /// Texts and blobs are cut.
        let value: SQLiteValue
        /// What the screen shows of it.
        let text: String

        init(_ value: SQLiteValue) {
            self.value = value
            text = ValueText.shown(value)
        }

        var isNumber: Bool {
            switch value {
            case .integer, .real: true
            default: false
            }
        }
    }
}
