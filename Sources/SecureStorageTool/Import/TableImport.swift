internal import SecureStorage

/// Inserts rows into a table through prepared statements.
final class TableImport {
    private(set) var rowCount = 0
    private let store: SecureDatabaseStore
    private let table: String
    /// The prepared statements, keyed by the columns that they fill, in order.
    private var statements: [[String]: SecureDatabaseStatement] = [:]

    init(_ table: String, in store: SecureDatabaseStore) {
        self.table = table
        self.store = store
    }

    deinit {
        for statement in statements.values { statement.close() }
    }

    /// Creates the table if it is missing, so that values are stored unchanged.
    ///
    /// - Parameters:
    ///   - columns: The columns' names.
    ///   - type: The declared type of all columns, with a leading space; empty for none.
    /// - Throws: for a column without a name; SQLite's errors.
    func makeTable(_ columns: [String], type: String) throws {
        guard try store.executeQuery(Self.findTable, values: [table]).firstInteger() == nil else {
            return
        }
        try checkNames(columns)
        let definitions = columns.map { SQLName.quoted($0) + type }.joined(separator: ", ")
        try store.executeUpdate("CREATE TABLE \(SQLName.quoted(table)) (\(definitions))")
    }

    private static let findTable =
        "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE"

    private func checkNames(_ columns: [String]) throws {
        guard !columns.contains("") else {
            throw Failure(
                "a column has no name", hint: "use --no-header if the first line is data")
        }
    }

    /// Returns the columns of the table that can be filled.
    func columns() throws -> [String] {
        try store.names("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", table)
    }

    /// Returns the statement that fills these columns.
    func statement(_ columns: [String]) throws -> SecureDatabaseStatement {
        if let statement = statements[columns] { return statement }
        try checkNames(columns)
        let sql =
            columns.isEmpty
            ? "INSERT INTO \(SQLName.quoted(table)) DEFAULT VALUES"
            : "INSERT INTO \(SQLName.quoted(table)) ("
                + columns.map { SQLName.quoted($0) }.joined(separator: ", ") + ") VALUES ("
                + columns.map { _ in "?" }.joined(separator: ", ") + ")"
        let statement = try store.prepare(sql)
        // Limits the cache: JSON objects of many shapes would need a statement each.
        if statements.count == 100 {
            for statement in statements.values { statement.close() }
            statements = [:]
        }
        statements[columns] = statement
        return statement
    }

    func insert(
        _ values: [(any SQLiteDatatypeBridgeable)?], with statement: SecureDatabaseStatement
    ) throws {
        // In the shell; one that comes between two statements interrupts none.
        try StopSignals.check()
        guard !Interrupts.hasCome else { throw Failure("interrupted") }
        try statement.executeUpdate(values: values)
        rowCount += 1
    }
}

/// Returns `error` with the line of the input that caused it.
func located(_ error: any Error, line: Int) -> any Error {
    guard let failure = Failure(error) else { return error }
    switch failure.kind {
    case .failed, .data:
        return failure.at("line \(line)", ending: "; nothing was imported", .data)
    case .sql: return failure.at("line \(line)", ending: "; nothing was imported")
    default: return failure
    }
}
