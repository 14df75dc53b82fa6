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
        migrations.add(
            "history",
            sql: """
                CREATE TABLE revision (
                    note INTEGER NOT NULL REFERENCES note, text TEXT NOT NULL, at INTEGER);
                CREATE INDEX revision_note ON revision (note);
                """)
        migrations.add(
            "search",
            sql: """
                CREATE VIRTUAL TABLE word USING fts5 (text, content='note', content_rowid='id');
                INSERT INTO word (word) VALUES ('rebuild');
                CREATE TRIGGER note_insert AFTER INSERT ON note BEGIN
                    INSERT INTO word (rowid, text) VALUES (new.id, new.text);
                END;
                CREATE TRIGGER note_update AFTER UPDATE ON note BEGIN
                    INSERT INTO word (word, rowid, text) VALUES ('delete', old.id, old.text);
                    INSERT INTO word (rowid, text) VALUES (new.id, new.text);
                END;
                """)
        migrations.add(
            "origin",
            sql: """
                ALTER TABLE note ADD COLUMN origin TEXT;
                CREATE UNIQUE INDEX note_origin ON note (origin);
                """)
        return migrations
    }
}
