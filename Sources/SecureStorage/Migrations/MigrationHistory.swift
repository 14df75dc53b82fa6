internal import Foundation

/// The steps applied to a file, as recorded in its table `securestorage_migration`.
struct MigrationHistory {
    private let applied: [(name: String, checksum: String)]

    /// Reads the table; no step has been applied to a file without one.
    init(of db: SecureDatabaseStore) throws {
        // In the main database: a temporary table could have the same name.
        let isThere: Int? = try db.object(
            forQuery: """
                SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'securestorage_migration'
                """)
        guard isThere != nil else {
            applied = []
            return
        }
        let rs = try db.executeQuery(
            "SELECT name, checksum FROM main.securestorage_migration ORDER BY position")
        defer { rs.close() }
        var applied: [(name: String, checksum: String)] = []
        while try rs.next() {
            applied.append(
                (rs.string(forColumnIndex: 0) ?? "", rs.string(forColumnIndex: 1) ?? ""))
        }
        self.applied = applied
    }

    /// Checks that the applied steps are the first of `steps`, with the same content.
    ///
    /// - Returns: Their number.
    /// - Throws: `.backingStoreError` code `.schema` for an unknown step, code `.misuse` for a
    ///   changed one.
    func requireBeginning(of steps: [SchemaMigrations.Step]) throws -> Int {
        let known = Set(steps.map(\.name))
        let unknown = applied.map(\.name).filter { !known.contains($0) }
        guard unknown.isEmpty else {
            let names = unknown.map { "\"\($0)\"" }.joined(separator: ", ")
            throw SecureStorageError.statementFailed(
                .schema,
                "the file has migrations that this program does not know (\(names)): a "
                    + "newer version of the program wrote it; update the program")
        }
        for (index, (found, step)) in zip(applied, steps).enumerated() {
            guard found.name == step.name else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "migration \(index + 1) of the file is \"\(found.name)\", but that of the program is "
                        + "\"\(step.name)\"; add new migrations at the end, and keep the others in "
                        + "their order")
            }
            guard found.checksum == step.checksum else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "the migration \"\(step.name)\" has changed since it was applied to the file; leave it "
                        + "as it was, and make the change in a new one")
            }
        }
        guard applied.count <= steps.count else {
            throw SecureStorageError.statementFailed(
                .misuse,
                "the file's table of migrations lists one twice; restore the file from a backup")
        }
        return applied.count
    }

    /// Records a step as the last one, in the open transaction.
    static func record(
        _ step: SchemaMigrations.Step, at position: Int, in db: SecureDatabaseStore
    ) throws {
        try db.executeUpdate(
            """
            CREATE TABLE IF NOT EXISTS main.securestorage_migration (
                position INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, checksum TEXT NOT NULL,
                applied REAL NOT NULL)
            """)
        try db.executeUpdate(
            """
            INSERT INTO main.securestorage_migration (position, name, checksum, applied)
            VALUES (?, ?, ?, ?)
            """,
            values: [position, step.name, step.checksum, Date().timeIntervalSince1970])
    }
}
