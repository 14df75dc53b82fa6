// Names of tables and columns in a statement.

extension SQL.StringInterpolation {
    /// Inserts the name of a table or a column, quoted.
    ///
    /// - Parameter name: Any text without NUL.
    public mutating func appendInterpolation(identifier name: String) {
        appendLiteral(SQLText.identifier(name))
    }

    /// Inserts all columns of a table, each named `table.column`: a property of the table's
    /// name has them as its own properties.
    ///
    /// ```swift
    /// struct NoteInFolder: Decodable { var note: Note, folder: Folder? }
    /// ```
    ///
    /// ```swift
    /// let rows = try db.fetchAll(
    ///     NoteInFolder.self,
    ///     """
    ///     SELECT \(columnsOf: "note"), \(columnsOf: "folder")
    ///     FROM note LEFT JOIN folder ON folder.id = note.folder
    ///     """)
    /// ```
    ///
    /// - Parameters:
    ///   - table: The name of a table or a view.
    ///   - alias: Its name in this statement, and that of the property; nil for `table`.
    public mutating func appendInterpolation(columnsOf table: String, as alias: String? = nil) {
        pieces.append(SQL.Piece(text: text ?? ""))
        text = nil
        extras.lists.append(
            SQL.ColumnList(piece: pieces.count - 1, table: table, name: alias ?? table))
    }
}

extension SQL: CustomStringConvertible {
    /// The text with its placeholders, without the values.
    public var description: String {
        pieces.isEmpty ? literal : text { "\(SQLText.identifier($0.name)).*" }
    }
}

extension SQL {
    /// Returns the text that a database runs.
    ///
    /// - Throws: The error of a value that cannot be bound; `.backingStoreError` code `.error` for
    ///   a table that does not exist, code `.misuse` for a value in place of a name.
    func text(in db: SecureDatabaseStore) throws -> String {
        if let failure = extras.failure { throw failure }
        guard !pieces.isEmpty else { return literal }
        guard !hasValueAsOrder else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "a value after ORDER BY or GROUP BY is a constant; name the column with "
                    + "\\(identifier: …)", in: description)
        }
        return try text { try $0.text(in: db) }
    }
}

extension SQL.ColumnList {
    /// - Throws: `.backingStoreError` code `.error` for a table that does not exist.
    fileprivate func text(in db: SecureDatabaseStore) throws -> String {
        let columns = try db.columnNames(of: table)
        guard !columns.isEmpty else {
            throw SecureStorageError.statementFailed(.error, "no such table: \(table)")
        }
        return columns.map {
            "\(SQLText.identifier(name)).\(SQLText.identifier($0)) AS "
                + SQLText.identifier("\(name).\($0)")
        }.joined(separator: ", ")
    }
}
