internal import SecureStorage

/// Rows on their way into a table, through prepared statements.
final class TableImport {
    private(set) var rowCount = 0
    private let store: SecureDatabaseStore
    private let table: String
    /// By the columns that they fill, in this order.
    private var statements: [[String]: SecureDatabaseStatement] = [:]

    init(_ table: String, in store: SecureDatabaseStore) {
        self.table = table
        self.store = store
    }

    deinit {
        for statement in statements.values { statement.close() }
    }

    /// Makes the table when it is missing; every value then stays what it is.
    ///
    /// - Parameters:
    ///   - columns: Their names.
    ///   - type: The declared type of all of them, with a blank before it; empty for none.
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
                "a column has no name", hint: "--no-header reads a file whose first line is data")
        }
    }

    /// The columns of the table that can be filled.
    func columns() throws -> [String] {
        try store.names("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", table)
    }

    /// The statement that fills these columns.
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
        // JSON of many shapes would keep as many.
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
        try statement.executeUpdate(values: values)
        rowCount += 1
    }
}

/// `error` with the line of the input that it is about.
func located(_ error: any Error, line: Int) -> any Error {
    guard let failure = Failure(error), failure.status == 1 else { return error }
    return Failure(
        "line \(line): \(failure.message); nothing was imported", hint: failure.hint)
}
