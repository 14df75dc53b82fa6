import SecureStorage

extension PackageDatabase {
    /// The number of rows in each table.
    struct RowCounts: Sendable, Equatable {
        var packages = 0
        var fields = 0
        var dependencies = 0
        /// Packages in the full-text index.
        var indexed = 0
    }

    func rowCounts() throws -> RowCounts {
        try queue.inDatabase { db in
            // FTS5 has a row of `…_docsize` for each text; `package_text` itself would count the
            // rows of `package`, from which it reads its text.
            let rs = try db.executeQuery(
                """
                SELECT (SELECT count(*) FROM package) AS packages,
                       (SELECT count(*) FROM field) AS fields,
                       (SELECT count(*) FROM dependency) AS dependencies,
                       (SELECT count(*) FROM package_text_docsize) AS indexed
                """)
            guard try rs.next() else { return RowCounts() }
            return RowCounts(
                packages: rs.int(forColumnName: "packages") ?? 0,
                fields: rs.int(forColumnName: "fields") ?? 0,
                dependencies: rs.int(forColumnName: "dependencies") ?? 0,
                indexed: rs.int(forColumnName: "indexed") ?? 0)
        }
    }

    /// Reads back every package with all its fields.
    func packages() throws -> [DebianPackage] {
        try queue.inDatabase { db in
            let rs = try db.executeQuery(
                "SELECT package_id, field, value FROM field ORDER BY package_id, position")
            var stanzas: [[DebianPackage.Field]] = []
            var last: Int64?
            while try rs.next() {
                let id = rs.int64(forColumnIndex: 0)
                if id != last { stanzas.append([]) }
                last = id
                // `object` throws if the value has another type; `string` would return nil.
                guard let name: String = try rs.object(forColumnIndex: 1),
                    let value: String = try rs.object(forColumnIndex: 2)
                else { throw Failure("a field is NULL in the database") }
                stanzas[stanzas.count - 1].append(DebianPackage.Field(name: name, value: value))
            }
            return stanzas.compactMap { DebianPackage(fields: $0) }
        }
    }

    /// Checks the file for damage with SQLite and SQLCipher.
    ///
    /// - Returns: The reported problems; empty for a sound file.
    func findDamage() throws -> [String] {
        try queue.inDatabase { db in
            var complaints: [String] = []
            for pragma in ["cipher_integrity_check", "foreign_key_check", "integrity_check"] {
                let rs = try db.executeQuery("PRAGMA \(pragma)")
                while try rs.next() {
                    let line = rs.string(forColumnIndex: 0) ?? "NULL"
                    if line != "ok" { complaints.append("\(pragma): \(line)") }
                }
            }
            // Throws if the search index differs from the text that it indexes.
            try db.executeUpdate(
                "INSERT INTO package_text (package_text, rank) VALUES ('integrity-check', 1)")
            return complaints
        }
    }
}
