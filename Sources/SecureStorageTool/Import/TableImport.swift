internal import Foundation
internal import SecureStorage

/// Inserts rows into a table through prepared statements.
final class TableImport {
    private(set) var rowCount = 0
    var remarks = ImportRemarks()
    let options: ImportOptions
    private let store: SecureDatabaseStore
    private let table: String
    /// Whether the table was there before the import.
    private(set) var isOld: Bool
    private(set) var isMade: Bool
    private(set) var names = ColumnNames()
    /// The columns that were made.
    private var made: [String] = []
    /// The prepared statements, keyed by the columns that they fill, in order.
    private var statements: [[String]: SecureDatabaseStatement] = [:]

    init(_ table: String, in store: SecureDatabaseStore, _ options: ImportOptions) throws {
        self.table = table
        self.store = store
        self.options = options
        isOld = try store.executeQuery(Self.findTable, values: [table]).firstInteger() != nil
        isMade = isOld
        guard isOld else { return }
        // Generated ones too: SQLite says that they cannot be filled.
        for name in try store.names("SELECT name FROM pragma_table_xinfo(?)", table) {
            _ = names.add(name)
        }
    }

    deinit {
        for statement in statements.values { statement.close() }
    }

    private static let findTable =
        "SELECT 1 FROM sqlite_schema WHERE type IN ('table', 'view') AND name = ? COLLATE NOCASE"

    // MARK: - Columns

    /// Returns the columns of the table that can be filled.
    func columns() throws -> [String] {
        try store.names("SELECT name FROM pragma_table_xinfo(?) WHERE hidden = 0", table)
    }

    /// Whether the table has the column.
    func has(_ column: String) -> Bool {
        names[column] != nil
            || (isOld && ["rowid", "oid", "_rowid_"].contains(column.lowercased()))
    }

    /// Makes the columns that the table lacks, and the table if it is missing.
    ///
    /// - Parameter columns: Names and types, of which an empty one is none.
    /// - Throws: for a table that exists and lacks a column, unless it may be added; SQLite's
    ///   errors.
    func make(_ columns: [(name: String, type: String)]) throws {
        let definitions = columns.map { name, type in
            let type = options.types.type(of: name) ?? type
            return SQLName.quoted(name) + (type.isEmpty ? "" : " " + type)
        }
        for column in columns {
            guard !isOld || options.addsColumns else {
                throw Failure(
                    "table \(table) has no column named \(column.name)",
                    hint: "--add-columns adds it", .sql)
            }
            _ = names.add(column.name)
            made.append(column.name)
            if isOld { remarks.added.append("\"\(column.name)\"") }
        }
        if isMade {
            for definition in definitions {
                try store.executeUpdate(
                    "ALTER TABLE \(SQLName.quoted(table)) ADD COLUMN \(definition)")
            }
        } else {
            try store.executeUpdate(
                "CREATE TABLE \(SQLName.quoted(table)) (\(definitions.joined(separator: ", ")))")
            isMade = true
        }
    }

    /// Checks at the end that all types which the user has chosen are those of columns.
    func end() throws { try options.types.requireUse(in: made) }

    // MARK: - Rows

    /// Returns the statement that fills these columns.
    func statement(_ columns: [String]) throws -> SecureDatabaseStatement {
        if let statement = statements[columns] { return statement }
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

    func insert(_ values: [SQLiteValue], with statement: SecureDatabaseStatement) throws {
        // In the shell; one that comes between two statements interrupts none.
        try StopSignals.check()
        guard !Interrupts.hasCome else {
            throw Failure("interrupted; nothing was imported", .signal(SIGINT))
        }
        try statement.executeUpdate(row: values)
        rowCount += 1
    }

    /// Leaves out a line because of its error, if the user wants that.
    ///
    /// - Throws: the error with its line and, if that would help, the option.
    func leaveOut(_ error: any Error, line: Int) throws {
        guard let failure = Failure(error) else { throw error }
        guard try isOfLine(error, failure) else { throw located(failure, line: line) }
        guard options.skips else {
            let hint = [failure.hint, "--skip leaves out such lines"].compactMap { $0 }
            throw located(
                Failure(failure.message, hint: hint.joined(separator: "; "), failure.kind),
                line: line)
        }
        remarks.skip(failure, line: line)
    }

    /// Whether the error is that of a line, without which the import can continue.
    private func isOfLine(_ error: any Error, _ failure: Failure) throws -> Bool {
        if error is Failure { return [.failed, .data, .sql].contains(failure.kind) }
        guard let code = (error as? SecureStorageError)?.resultCode?.primary,
            [.constraint, .mismatch, .tooBig].contains(code)
        else { return false }
        // ON CONFLICT ROLLBACK has ended all of it.
        return try store.isInTransaction()
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
