import SecureStorage

extension Notebook {
    /// The steps from an empty file to this program's schema; new ones go to the end.
    static var migrations: SchemaMigrations {
        var migrations = SchemaMigrations()
        // IF NOT EXISTS, here only: for files that were made before there was a list.
        migrations.add(
            "notes",
            sql: """
                CREATE TABLE IF NOT EXISTS note (
                    id INTEGER PRIMARY KEY, text TEXT NOT NULL, at INTEGER)
                """)
        return migrations
    }
}
