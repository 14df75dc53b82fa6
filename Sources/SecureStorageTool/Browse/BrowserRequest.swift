internal import SecureStorage

/// The rows that a page begins or ends with.
enum PagePlace: Equatable, Sendable {
    case first, last
    case after(RowKey)
    case before(RowKey)
    /// The row itself and those after it.
    case from(RowKey)
}

/// The rows that are shown: of a table, those that fulfil a condition.
struct RowSource: Equatable, Sendable {
    let table: String
    /// An SQL expression; nil for all rows.
    var filter: String?
}

/// A search for a text in any column, without regard to the case of ASCII letters.
struct TextSearch: Equatable, Sendable {
    let text: String
    var isForward: Bool
}

/// A cell, whose whole value is wanted, or is changed.
struct CellPlace: Equatable, Sendable {
    let table: String
    let key: RowKey
    /// For a row that has no key of its own.
    let filter: String?
    let column: Int
    let columnName: String
}

/// What the browser wants of the database.
enum BrowserRequest: Equatable, Sendable {
    case tables
    case page(RowSource, PagePlace, limit: Int)
    /// Searches from a row, without it; nil: from the first or last.
    case search(RowSource, TextSearch, from: RowKey?, limit: Int)
    case cell(CellPlace)
    case schema(String)
    case count(String)
    /// Changes a cell that still has the value `old`.
    case update(CellPlace, old: SQLiteValue, new: SQLiteValue)
    /// Removes a row that is still as it was shown.
    case delete(RowSource, BrowsedRow, columns: [String])
}

/// The rows of a request, in order.
struct RowPage: Equatable, Sendable {
    let shape: TableShape
    let rows: [BrowsedRow]
    let place: PagePlace
    /// Whether no row is before the first, and after the last.
    let isAtStart: Bool
    let isAtEnd: Bool
}

/// A cell's value, up to ``BrowserPages/longestValue``.
struct WholeValue: Equatable, Sendable {
    let value: SQLiteValue
    /// In bytes.
    let length: Int
    var isWhole: Bool
}

/// What the database answers.
enum BrowserAnswer: Equatable, Sendable {
    case tables([TableEntry])
    case page(RowPage)
    /// The rows from the found one on, and its columns that have the text.
    case found(RowPage, columns: [Int])
    case notFound
    case cell(CellPlace, WholeValue)
    case schema(String, String)
    case counted(String, RowCount)
    case updated, deleted
    /// Such as the number of rows that a search has read.
    case progress(String)
    /// The table no longer exists.
    case gone(String)
    case failed(String)
    case interrupted
}
