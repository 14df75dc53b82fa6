internal import SecureStorage

/// Splits a text into statements, with the lines at which they begin.
struct Statements {
    /// A statement and the line, from 1, at which it begins.
    struct Statement {
        let sql: String
        let line: Int
    }

    private var scanner = StatementScanner()
    private var bytes: [UInt8] = []
    private var line = 1
    private var firstLine = 1

    /// Whether a statement has begun that no semicolon has ended yet.
    var isInStatement: Bool { scanner.hasStatement || scanner.isInside }

    /// Adds more text, and returns the statements that it completes.
    mutating func take(_ text: some Sequence<UInt8>) throws -> [Statement] {
        var complete: [Statement] = []
        for byte in text {
            // Whitespace before a statement does not belong to any.
            if bytes.isEmpty {
                if byte == 0x0a { line += 1 }
                if byte <= 0x20 { continue }
                firstLine = line
            } else if byte == 0x0a {
                line += 1
            }
            bytes.append(byte)
            if scanner.ends(with: byte), let statement = try end() { complete.append(statement) }
        }
        return complete
    }

    /// Returns the rest of the text as a statement without its semicolon.
    mutating func finish() throws -> Statement? {
        // Only the next byte ends a word.
        _ = scanner.ends(with: 0x0a)
        return try end()
    }

    mutating func reset() { self = Statements() }

    private mutating func end() throws -> Statement? {
        defer {
            bytes.removeAll(keepingCapacity: true)
            scanner.reset()
        }
        guard scanner.hasStatement else { return nil }
        let sql = String(decoding: bytes, as: UTF8.self)
        guard sql.utf8.elementsEqual(bytes) else {
            throw Failure("the statement at line \(firstLine) is not UTF-8")
        }
        return Statement(sql: sql, line: firstLine)
    }
}

/// Runs statements one at a time and shows their results.
struct StatementRunner {
    let store: SecureDatabaseStore
    let output: Output
    var format: OutputFormat
    var showsHeaders = true

    init(store: SecureDatabaseStore, output: Output, format: OutputFormat) {
        self.store = store
        self.output = output
        self.format = format
    }

    /// Runs `sql`, and reports the commit if it has written anything and no transaction is open.
    func run(_ sql: String, values: [String] = []) throws {
        let wasInTransaction = try store.isInTransaction()
        let before = try wasInTransaction ? 0 : changes()
        let values: [(any SQLiteDatatypeBridgeable)?] = values
        let statement = try store.prepare(sql)
        defer { statement.close() }
        var returnsRows = true
        do {
            let rows = try statement.executeQuery(values: values)
            try format.write(rows, to: output, showsHeaders: showsHeaders)
        } catch SecureStorageError.backingStoreError(let code, _) where code == Self.misuse {
            // The statement returns no columns.
            try statement.executeUpdate(values: values)
            returnsRows = false
        }
        try output.flush()
        // Nothing is committed while a transaction is open.
        guard try !store.isInTransaction() else { return }
        let acknowledgement: String
        if wasInTransaction {
            let isRollback = leadingWords(sql, 1) == ["ROLLBACK"]
            acknowledgement = isRollback ? "ok, rolled back" : "ok, committed"
        } else {
            let count = try changes() - before
            guard !returnsRows || count != 0 else { return }
            acknowledgement =
                count == 0 ? "ok" : "ok, \(count) \(count == 1 ? "row" : "rows") changed"
        }
        try acknowledge(acknowledgement, on: format.isForPeople ? output : Output.errors)
    }

    /// SQLITE_MISUSE.
    private static let misuse = 21

    private func changes() throws -> Int64 {
        try store.executeQuery("SELECT total_changes()").firstInteger() ?? 0
    }
}

extension SecureDatabaseResultSet {
    /// Returns the first column of the first row, and closes the result set.
    func firstInteger() throws -> Int64? {
        defer { close() }
        return try next() ? int64(forColumnIndex: 0) : nil
    }

    /// Returns the first column of the first row, and closes the result set.
    func firstText() throws -> String? {
        defer { close() }
        return try next() ? string(forColumnIndex: 0) : nil
    }
}
