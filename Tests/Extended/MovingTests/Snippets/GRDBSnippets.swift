import Foundation
import SecureStorage

// Compiled copies of the snippets of Docs/FromGRDB.md.

func grdbFirstLines(
    path: String, note: FromGRDBTests.Note, migrations: SchemaMigrations
) throws -> [FromGRDBTests.Note] {
    typealias Note = FromGRDBTests.Note
    let queue = SecureDatabaseQueue(fullDatabasePath: path)
    try queue.open(with: .passphrase("correct horse battery staple"))
    try queue.migrate(migrations)

    let id = try queue.write { db in try db.insert(note, into: "note") }
    let notes = try queue.fetchAll(
        Note.self, "SELECT * FROM note WHERE text LIKE ?", values: ["%milk%"])
    _ = id
    return notes
}

func grdbObservation(of queue: SecureDatabaseQueue, show: (Int) -> Void) async throws {
    let counts = queue.values { db in try db.int(forQuery: "SELECT count(*) FROM note") ?? 0 }
    for await count in counts {
        show(try count.get())
    }
}

func encryptGRDBFile(from plain: URL, to encrypted: URL, key: DatabaseKey) throws {
    guard !SecureDatabaseStore.exists(at: encrypted) else { return }
    try SecureDatabaseStore.importPlaintext(from: plain, to: encrypted, key: key)
}

extension SchemaMigrations {
    /// Adds a step that GRDB's `DatabaseMigrator` may have run on the file already.
    mutating func add(registeredInGRDB name: String, sql: String) {
        add(name) { db in
            let hasRun =
                try db.tableExists("grdb_migrations")
                && db.int(
                    forQuery: "SELECT count(*) FROM grdb_migrations WHERE identifier = ?", name)
                    == 1
            if !hasRun { try db.executeStatements(sql) }
        }
    }
}

func grdbMigrations() -> SchemaMigrations {
    var migrations = SchemaMigrations()
    migrations.add(
        registeredInGRDB: "players",
        sql: """
            CREATE TABLE player (
                id BLOB PRIMARY KEY NOT NULL, name TEXT NOT NULL, score INTEGER NOT NULL,
                isCaptain BOOLEAN NOT NULL, joined DATETIME NOT NULL, photo BLOB, address TEXT);
            """)
    migrations.add(
        registeredInGRDB: "notes",
        sql: """
            CREATE TABLE note (
                id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL,
                playerID BLOB NOT NULL REFERENCES player (id) ON DELETE CASCADE);
            CREATE INDEX note_on_playerID ON note (playerID);
            """)
    migrations.add(
        registeredInGRDB: "search",
        sql: """
            CREATE VIRTUAL TABLE noteSearch USING fts5(
                text, tokenize='porter unicode61', content='note', content_rowid='id');
            CREATE TRIGGER __noteSearch_ai AFTER INSERT ON note BEGIN
                INSERT INTO noteSearch (rowid, text) VALUES (new.id, new.text);
            END;
            CREATE TRIGGER __noteSearch_ad AFTER DELETE ON note BEGIN
                INSERT INTO noteSearch (noteSearch, rowid, text) VALUES ('delete', old.id, old.text);
            END;
            CREATE TRIGGER __noteSearch_au AFTER UPDATE ON note BEGIN
                INSERT INTO noteSearch (noteSearch, rowid, text) VALUES ('delete', old.id, old.text);
                INSERT INTO noteSearch (rowid, text) VALUES (new.id, new.text);
            END;
            """)
    migrations.add(
        "dates as numbers, UUIDs as text",
        sql: """
            UPDATE player SET joined = CAST(strftime('%s', joined) AS INTEGER)
                + ifnull(CAST('0' || substr(strftime('%f', joined), 3) AS REAL), 0)
                WHERE typeof(joined) = 'text';
            UPDATE player SET id = format(
                '%s-%s-%s-%s-%s', substr(hex(id), 1, 8), substr(hex(id), 9, 4),
                substr(hex(id), 13, 4), substr(hex(id), 17, 4), substr(hex(id), 21))
                WHERE typeof(id) = 'blob';
            UPDATE note SET playerID = format(
                '%s-%s-%s-%s-%s', substr(hex(playerID), 1, 8), substr(hex(playerID), 9, 4),
                substr(hex(playerID), 13, 4), substr(hex(playerID), 17, 4), substr(hex(playerID), 21))
                WHERE typeof(playerID) = 'blob';
            UPDATE player
                SET address = json_set(address, '$.since', json_extract(address, '$.since') / 1000.0)
                WHERE address IS NOT NULL;
            """)
    return migrations
}
