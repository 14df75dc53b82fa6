internal import Foundation

// Whole rows written by the names of their columns, each with one prepared statement per shape.

extension SecureDatabaseStore {
    /// Inserts a value as a row: each property into the column of the same name.
    ///
    /// ```swift
    /// let id = try db.insert(Note(id: nil, text: "buy milk"), into: "note")
    /// ```
    ///
    /// A property is stored as `executeUpdate` binds it, nil as NULL, but `Date` as `dates` says;
    /// `URL`, `UUID` and `Decimal` as TEXT, an enum by its raw value, and any other `Encodable`
    /// type as JSON in TEXT. ``SecureDatabaseResultSet/decode(_:dates:)`` reads it back. NULL in an
    /// `INTEGER PRIMARY KEY` takes a new row id.
    ///
    /// - Parameters:
    ///   - value: A type whose properties, by their coding keys, are columns.
    ///   - table: The table's name.
    ///   - dates: The format in which dates are stored, those in JSON too.
    /// - Returns: The row id.
    /// - Throws: As `executeUpdate(_:values:)`; `.typeConversionFailed` for a property that no
    ///   column can hold; `.backingStoreError` code `.misuse` for a type without properties.
    @discardableResult
    @_disfavoredOverload  // a dictionary literal is a list of columns
    public func insert(
        _ value: some Encodable, into table: String,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws -> Int64 {
        try insert([RowEncoder.columns(of: value, dates: dates)], into: table)
    }

    /// Inserts values as rows, all or none of them.
    ///
    /// - Parameters:
    ///   - values: As for ``insert(_:into:dates:)``; each may have other columns.
    ///   - table: The table's name.
    ///   - dates: The format in which dates are stored.
    /// - Throws: As ``insert(_:into:dates:)``; none of the rows is inserted then.
    public func insert(
        contentsOf values: [some Encodable], into table: String,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws {
        let rows = try values.map { try RowEncoder.columns(of: $0, dates: dates) }
        try insert(rows, into: table)
    }

    /// Inserts a row of named values.
    ///
    /// ```swift
    /// try db.insert(["text": "buy milk", "at": Date()], into: "note")
    /// ```
    ///
    /// - Parameters:
    ///   - values: The value of each column; nil is NULL, a `Date` REAL as in
    ///     ``insert(_:into:dates:)``. Other columns get their default.
    ///   - table: The table's name.
    /// - Returns: The row id.
    /// - Throws: As `executeUpdate(_:values:)`.
    @discardableResult
    public func insert(_ values: Columns, into table: String) throws -> Int64 {
        try insert([Self.row(values)], into: table)
    }

    /// Updates the row of a value: sets all columns but its key.
    ///
    /// - Parameters:
    ///   - value: As for ``insert(_:into:dates:)``.
    ///   - table: The table's name.
    ///   - key: The columns that identify the row, properties of the value.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The number of rows that have this key.
    /// - Throws: As ``insert(_:into:dates:)``; code `.misuse` for a key that is not a property, and
    ///   where nothing else is.
    @discardableResult
    @_disfavoredOverload  // as for `insert(_:into:dates:)`
    public func update(
        _ value: some Encodable, in table: String, key: String...,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws -> Int {
        try update(RowEncoder.columns(of: value, dates: dates), in: table, key)
    }

    /// Updates the named columns of the rows that have a key.
    ///
    /// ```swift
    /// try db.update(["text": "buy bread"], in: "note", key: ["id": id])
    /// ```
    ///
    /// - Parameters:
    ///   - values: The new value of each column; nil is NULL.
    ///   - table: The table's name.
    ///   - key: The columns that identify the rows, with their values.
    /// - Returns: The number of rows that have this key.
    /// - Throws: As `executeUpdate(_:values:)`; code `.misuse` without values or key.
    @discardableResult
    public func update(
        _ values: Columns, in table: String, key: Columns
    ) throws -> Int {
        try update(set: Self.row(values), where: Self.row(key), in: table)
    }

    /// Updates the row of a value where the value differs from an earlier one: sets only these
    /// columns.
    ///
    /// ```swift
    /// try db.update(edited, changedFrom: note, in: "note", key: "id")
    /// ```
    ///
    /// So it does not undo what others have written to other columns since `original` was read.
    ///
    /// - Parameters:
    ///   - value: As for ``insert(_:into:dates:)``.
    ///   - original: The value as it was read.
    ///   - table: The table's name.
    ///   - key: The columns that identify the row, properties with which both values agree.
    ///   - dates: The format in which dates are stored.
    /// - Returns: The number of rows that were set: 0 also if nothing differs.
    /// - Throws: As ``update(_:in:key:dates:)``; code `.misuse` for values with different keys.
    @discardableResult
    public func update<T: Encodable>(
        _ value: T, changedFrom original: T, in table: String, key: String...,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws -> Int {
        let row = try RowEncoder.columns(of: value, dates: dates)
        let before = try RowEncoder.columns(of: original, dates: dates)
        try Self.require(key, in: row)
        let changed = row.filter { column in
            !before.contains { $0.name == column.name && $0.value == column.value }
        }
        guard !changed.contains(where: { key.contains($0.name) }) else {
            throw SecureStorageError.statementFailed(
                .misuse, "the two values have different keys, so they are different rows")
        }
        guard !changed.isEmpty else { return 0 }
        return try update(set: changed, where: row.filter { key.contains($0.name) }, in: table)
    }

    /// Inserts a value as a row, or updates the row that has its key.
    ///
    /// - Parameters:
    ///   - value: As for ``insert(_:into:dates:)``.
    ///   - table: The table's name.
    ///   - key: The columns of a primary key or of a unique index, properties of the value.
    ///   - dates: The format in which dates are stored.
    /// - Throws: As ``insert(_:into:dates:)``; code `.misuse` for a key that is not a property;
    ///   code `.error` where no unique index has exactly these columns.
    ///
    /// See [UPSERT](https://sqlite.org/lang_upsert.html).
    public func upsert(
        _ value: some Encodable, into table: String, key: String...,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws {
        try upsert([RowEncoder.columns(of: value, dates: dates)], into: table, key)
    }

    /// Inserts or updates a row for each value, all or none of them.
    ///
    /// - Parameters:
    ///   - values: As for ``insert(_:into:dates:)``.
    ///   - table: The table's name.
    ///   - key: As for ``upsert(_:into:key:dates:)``.
    ///   - dates: The format in which dates are stored.
    /// - Throws: As ``upsert(_:into:key:dates:)``; nothing has changed then.
    public func upsert(
        contentsOf values: [some Encodable], into table: String, key: String...,
        dates: DateEncodingStrategy = .secondsSince1970
    ) throws {
        let rows = try values.map { try RowEncoder.columns(of: $0, dates: dates) }
        try upsert(rows, into: table, key)
    }

    // MARK: - Statements

    typealias Row = [(name: String, value: SQLiteValue)]

    static func row(_ values: Columns) throws -> Row {
        try values.map { ($0, try SQLiteValue(storing: $1)) }
    }

    @discardableResult
    private func insert(_ rows: [Row], into table: String) throws -> Int64 {
        try write(rows) { Self.insert(into: table, $0) }
        return try lastInsertRowId()
    }

    private func upsert(_ rows: [Row], into table: String, _ key: [String]) throws {
        for row in rows { try Self.require(key, in: row) }
        try write(rows) { names in
            let others = names.filter { !key.contains($0) }.map { SQLText.identifier($0) }
            let change =
                others.isEmpty
                ? "NOTHING"
                : "UPDATE SET " + others.map { "\($0) = excluded.\($0)" }.joined(separator: ", ")
            let columns = key.map { SQLText.identifier($0) }.joined(separator: ", ")
            return "\(Self.insert(into: table, names)) ON CONFLICT (\(columns)) DO \(change)"
        }
    }

    private func update(_ row: Row, in table: String, _ key: [String]) throws -> Int {
        try Self.require(key, in: row)
        return try update(
            set: row.filter { !key.contains($0.name) }, where: row.filter { key.contains($0.name) },
            in: table)
    }

    private func update(set values: Row, where key: Row, in table: String) throws -> Int {
        guard !values.isEmpty, !key.isEmpty else {
            throw SecureStorageError.statementFailed(
                .misuse, "an update needs a column to set, and one that identifies the row")
        }
        let condition = Condition(key)
        let sql =
            "UPDATE \(SQLText.identifier(table)) SET "
            + values.map { "\(SQLText.identifier($0.name)) = ?" }.joined(separator: ", ")
            + condition.sql
        try executeUpdate(sql, values: values.map(\.value) + condition.values)
        return try changedRowCount()
    }

    private static func insert(into table: String, _ names: [String]) -> String {
        SQLText.insert(into: SQLText.identifier(table), names.map(SQLText.identifier))
    }

    /// Runs a statement for each row, all or none of them; the SQL is made once for rows of the
    /// same columns.
    private func write(_ rows: [Row], _ sql: ([String]) -> String) throws {
        var shape: (names: [String], sql: String)?
        func run(_ row: Row) throws {
            if shape.map({ $0.names.elementsEqual(row.lazy.map(\.name)) }) != true {
                let names = row.map(\.name)
                shape = (names, sql(names))
            }
            guard let shape else { return }
            try executeUpdate(shape.sql, values: row.map(\.value))
        }
        guard rows.count != 1 else { return try run(rows[0]) }
        guard !rows.isEmpty else { return }
        try inTransaction(.immediate) { _ in
            for row in rows { try run(row) }
            return false
        }
    }

    static func require(_ key: [String], in row: Row) throws {
        guard !key.isEmpty else { throw SecureStorageError.keyWithoutColumns }
        for name in key where !row.contains(where: { $0.name == name }) {
            throw SecureStorageError.statementFailed(
                .misuse, "the key \"\(name)\" is not one of the value's properties")
        }
    }
}
