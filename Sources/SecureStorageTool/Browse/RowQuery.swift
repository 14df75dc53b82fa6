internal import SecureStorage

/// The SQL for rows of a table in the order of its key.
struct RowQuery {
    let shape: TableShape
    var search: String?
    private let db: SecureDatabaseStore
    private let source: RowSource

    /// The characters of a text, and the bytes of a blob, that a cell has at most.
    private static let longestText = 300
    private static let longestBlob = 150

    init(_ db: SecureDatabaseStore, _ source: RowSource) throws {
        self.db = db
        self.source = source
        shape = try db.shape(of: source.table)
    }

    // MARK: - Pages

    func page(at place: PagePlace, limit: Int) throws -> RowPage {
        guard shape.key == .offset else {
            return RowPage(
                shape: shape, place: place,
                rows: try rows(in: RowSlice(from: place), limit: limit + 1), limit: limit)
        }
        let start: Int
        switch place {
        case .after(.offset(let row)): start = row + 1
        case .from(.offset(let row)): start = row
        case .before(.offset(let row)): start = max(0, row - limit)
        case .last: start = max(0, try length(upTo: BrowserPages.longestView) - limit)
        default: start = 0
        }
        var limit = limit
        if case .before(.offset(let row)) = place { limit = min(limit, row) }
        let room = max(0, min(limit, BrowserPages.longestView - start))
        var rows = try rows(at: start, limit: room + 1)
        let hasMore = rows.count > room
        if hasMore { rows.removeLast() }
        return RowPage(
            shape: shape, rows: rows, place: place, isAtStart: start == 0,
            isAtEnd: !hasMore || start + room >= BrowserPages.longestView)
    }

    /// Returns the rows of a slice, in its direction.
    func rows(in slice: RowSlice, limit: Int) throws -> [BrowsedRow] {
        let (sql, values) = statement(for: slice, limit: limit)
        let result = try db.executeQuery(sql, values: values)
        defer { result.close() }
        var rows: [BrowsedRow] = []
        while try result.next() {
            rows.append(BrowsedRow(key: key(result), cells: cells(result, from: keyColumns.count)))
        }
        return rows
    }

    func statement(for slice: RowSlice, limit: Int) -> (sql: String, values: [SQLiteValue]) {
        var values: [SQLiteValue] = []
        var conditions: [String] = []
        if let start = slice.start {
            let sign = slice.isForward ? ">" : "<"
            conditions.append(
                comparison(with: start, slice.includesStart ? sign + "=" : sign, &values))
        }
        if let end = slice.end {
            conditions.append(comparison(with: end, slice.isForward ? "<=" : ">=", &values))
        }
        conditions += conditionsOnRows(&values)
        let sql =
            "SELECT \((keyColumns + cells).joined(separator: ", ")) FROM \(table)"
            + clause(conditions) + " ORDER BY \(order(slice.isForward)) LIMIT \(limit)"
        return (sql, values)
    }

    /// Returns the key of the row at the end of a slice, or nil if the table ends before.
    func boundary(of slice: RowSlice, length: Int) throws -> RowKey? {
        var values: [SQLiteValue] = []
        var conditions: [String] = []
        if let start = slice.start {
            let sign = slice.isForward ? ">" : "<"
            conditions.append(
                comparison(with: start, slice.includesStart ? sign + "=" : sign, &values))
        }
        let result = try db.executeQuery(
            "SELECT \(keyColumns.joined(separator: ", ")) FROM \(table)" + clause(conditions)
                + " ORDER BY \(order(slice.isForward)) LIMIT 1 OFFSET \(length - 1)",
            values: values)
        defer { result.close() }
        return try result.next() ? key(result) : nil
    }

    // MARK: - Views

    func length(upTo limit: Int) throws -> Int {
        var values: [SQLiteValue] = []
        let count = try db.executeQuery(
            "SELECT count(*) FROM (SELECT 1 FROM \(table)\(clause(conditionsOnRows(&values)))"
                + " LIMIT \(limit))", values: values
        ).firstInteger()
        return Int(count ?? 0)
    }

    private func rows(at start: Int, limit: Int) throws -> [BrowsedRow] {
        var values: [SQLiteValue] = []
        let result = try db.executeQuery(
            "SELECT \(cells.joined(separator: ", ")) FROM \(table)"
                + clause(conditionsOnRows(&values)) + " LIMIT \(limit) OFFSET \(start)",
            values: values)
        defer { result.close() }
        var rows: [BrowsedRow] = []
        while try result.next() {
            rows.append(
                BrowsedRow(key: .offset(start + rows.count), cells: cells(result, from: 0)))
        }
        return rows
    }

    /// Returns the rows of a range in which the searched text is.
    func offsets(in range: Range<Int>) throws -> [Int] {
        var values: [SQLiteValue] = []
        let match = match(&values)
        var conditions: [String] = []
        if let filter = source.filter { conditions.append("(\n\(filter)\n)") }
        let result = try db.executeQuery(
            "SELECT \(match) FROM \(table)\(clause(conditions)) LIMIT \(range.count)"
                + " OFFSET \(range.lowerBound)", values: values)
        defer { result.close() }
        var found: [Int] = []
        var row = range.lowerBound
        while try result.next() {
            if result.int(forColumnIndex: 0) == 1 { found.append(row) }
            row += 1
        }
        return found
    }

    // MARK: - Parts

    private var table: String { SQLName.quoted(source.table) }

    private func clause(_ conditions: [String]) -> String {
        conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
    }

    private func conditionsOnRows(_ values: inout [SQLiteValue]) -> [String] {
        var conditions: [String] = []
        // On lines of its own: it may end with a comment.
        if let filter = source.filter { conditions.append("(\n\(filter)\n)") }
        if search != nil { conditions.append(match(&values)) }
        return conditions
    }

    private func match(_ values: inout [SQLiteValue]) -> String {
        values += shape.columns.map { _ in Self.pattern(search ?? "") }
        let matches = shape.columns.map { Self.match($0) }
        // NULL does not match.
        return "ifnull(\(matches.joined(separator: " OR ")), 0)"
    }

    private static func match(_ column: String) -> String {
        "\(SQLName.quoted(column)) LIKE ? ESCAPE '\\'"
    }

    /// The pattern of LIKE for a text anywhere in a value.
    private static func pattern(_ text: String) -> SQLiteValue {
        let escaped = text.reduce(into: "") { result, character in
            if "%_\\".contains(character) { result += "\\" }
            result.append(character)
        }
        return .text("%\(escaped)%")
    }

    /// Returns the columns that contain a text in the row with a key.
    func columns(with text: String, at key: RowKey) throws -> [Int] {
        var values = shape.columns.map { _ in Self.pattern(text) }
        var end = ""
        if case .offset(let row) = key {
            if let filter = source.filter { end = " WHERE (\n\(filter)\n)" }
            end += " LIMIT 1 OFFSET \(row)"
        } else if let condition = Self.condition(shape, key, &values) {
            end = " WHERE \(condition)"
        }
        let matches = shape.columns.map { Self.match($0) }.joined(separator: ", ")
        let result = try db.executeQuery("SELECT \(matches) FROM \(table)\(end)", values: values)
        defer { result.close() }
        guard try result.next() else { return [] }
        return shape.columns.indices.filter { result.int(forColumnIndex: $0) == 1 }
    }

    private var cells: [String] { shape.columns.map { Self.cell(SQLName.quoted($0)) } }

    /// The beginning of a value.
    ///
    /// `substr` of a text ends at a NUL, so short ones are read whole.
    static func cell(_ name: String) -> String {
        "CASE typeof(\(name)) WHEN 'text' THEN CASE WHEN length(CAST(\(name) AS BLOB)) > "
            + "\(4 * longestText) THEN substr(\(name), 1, \(longestText)) ELSE \(name) END "
            + "WHEN 'blob' THEN substr(\(name), 1, \(longestBlob)) ELSE \(name) END"
    }

    private func cells(_ result: SecureDatabaseResultSet, from first: Int) -> [BrowsedRow.Cell] {
        shape.columns.indices.map { BrowsedRow.Cell(result.stored(first + $0)) }
    }

    private var keyColumns: [String] {
        switch shape.key {
        case .rowID(let name): [name]
        case .offset: []
        case .primaryKey(let columns):
            columns.flatMap { column in
                let name = SQLName.quoted(column.name)
                return [
                    "typeof(\(name)) = 'text'",
                    "CASE typeof(\(name)) WHEN 'text' THEN CAST(\(name) AS BLOB) ELSE \(name) END",
                ]
            }
        }
    }

    private func key(_ result: SecureDatabaseResultSet) -> RowKey {
        guard case .primaryKey(let columns) = shape.key else {
            return .values([RowKey.Part(value: result.stored(0), isText: false)])
        }
        return .values(
            columns.indices.map {
                RowKey.Part(
                    value: result.stored(2 * $0 + 1), isText: result.stored(2 * $0) == .integer(1))
            })
    }
}
