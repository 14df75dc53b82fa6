internal import SecureStorage

/// Runs an SQL script within the single transaction of an import.
struct SQLImport {
    let input: InputFile

    /// - Returns: The number of statements.
    func run(in store: SecureDatabaseStore, _ progress: ProgressBar) throws -> Int {
        let before = try danglingReferences(store)
        let count = try runStatements(in: store, progress)
        let after = try danglingReferences(store)
        guard after.count <= before.count else {
            let tables = Set(after).sorted().map { "\"\($0)\"" }.joined(separator: ", ")
            throw Failure(
                "rows of \(tables) refer to missing rows (FOREIGN KEY); nothing was imported",
                .sql
            )
        }
        return count
    }

    /// Returns the table of each row whose foreign key refers to a missing row.
    private func danglingReferences(_ store: SecureDatabaseStore) throws -> [String] {
        try store.names("PRAGMA foreign_key_check")
    }

    private func runStatements(
        in store: SecureDatabaseStore, _ progress: ProgressBar
    ) throws -> Int {
        var statements = Statements()
        var chunk: [UInt8] = []
        var count = 0
        func run(_ statement: Statements.Statement) throws {
            do {
                if !isPlainInsert(statement.sql) {
                    guard try !isOfTransaction(statement.sql) else { return }
                    try refuseSchemaWriting(statement.sql)
                }
                try store.executeStatements(statement.sql)
            } catch {
                let error = Failure.statement(error, statement.sql, in: store)
                let line = Failure(error)?.line(ofStatementAt: statement.line)
                throw located(error, line: line ?? statement.line)
            }
            // Not "nothing was imported": a statement that ends it without an error may have
            // committed.
            guard try store.isInTransaction() else {
                throw Failure(
                    "line \(statement.line): the statement ended the import's transaction",
                    hint: "check the contents of the file, and remove from the script what commits",
                    .sql)
            }
            count += 1
            progress.advance(to: input.position, "\(count) statements")
        }
        while true {
            try input.read(into: &chunk)
            if chunk.isEmpty { break }
            for statement in try statements.take(chunk) { try run(statement) }
        }
        if let last = try statements.finish() { try run(last) }
        return count
    }

    /// Returns whether the statement is an INSERT into a table that is surely none of SQLite's own.
    ///
    /// A script has millions of them, and the other questions take longer.
    private func isPlainInsert(_ sql: String) -> Bool {
        sql.utf8.withContiguousStorageIfAvailable { bytes in
            func has(_ word: StaticString, at start: Int) -> Bool {
                guard start + word.utf8CodeUnitCount <= bytes.count else { return false }
                for index in 0..<word.utf8CodeUnitCount
                where bytes[start + index] | 0x20 != word.utf8Start[index] { return false }
                return true
            }
            guard has("insert into ", at: 0) else { return false }
            // The text in which the name is.
            for index in 12..<min(64, bytes.count) {
                if bytes[index] == UInt8(ascii: "(") { break }
                if has("sqlite", at: index) { return false }
            }
            return true
        } ?? false
    }

    /// Refuses dumps of virtual tables, which write into the schema.
    ///
    /// A store does not allow that, because a script could use it to do anything.
    private func refuseSchemaWriting(_ sql: String) throws {
        let words = leadingWords(sql, 2)
        // The text after the first word, in which an INSERT names its table.
        let target = sql.drop { $0 != "(" && $0 != " " }.prefix(40).lowercased()
        let isWriting =
            words == ["INSERT", "INTO"]
            && ["sqlite_schema(", "sqlite_master("].contains(where: target.contains)
        guard isWriting || words == ["PRAGMA", "WRITABLE_SCHEMA"] else { return }
        throw Failure(
            "the script writes a virtual table into the schema, which is not allowed",
            hint:
                "\"securestorage encrypt\" copies a database with its virtual tables; in a script, "
                + "create the table with CREATE VIRTUAL TABLE and fill it, without its shadow tables"
        )
    }

    /// Returns whether the statement begins or commits a transaction, as in dumps; the import does
    /// both.
    private func isOfTransaction(_ sql: String) throws -> Bool {
        let words = leadingWords(sql, 2)
        switch words.first {
        case "BEGIN", "COMMIT", "END": return true
        case "ROLLBACK" where words.dropFirst().first != "TO":
            throw Failure("the script rolls back, so nothing would be imported")
        default: return false
        }
    }
}
