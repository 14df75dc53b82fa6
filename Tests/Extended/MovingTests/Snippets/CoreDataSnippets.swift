import Foundation
import SecureStorage

// Compiled copies of the snippets of Docs/FromCoreData.md.

func coreDataFirstLines(path: String, migrations: SchemaMigrations) throws -> [String] {
    let library = SecureDatabasePool(fullDatabasePath: path)
    try library.open(with: .passphrase("correct horse battery staple"))
    try library.migrate(migrations)

    let id = try library.write { db in try db.insert(["title": "Notes"], into: "book") }
    let titles = try library.fetchAll("SELECT title FROM book WHERE title LIKE ?", "%Not%") {
        (title: String) in title
    }
    _ = id
    return titles
}

func convertLibrary(at store: URL, to encrypted: URL, key: DatabaseKey) throws {
    let new = SecureDatabaseQueue(url: encrypted)
    if !SecureDatabaseStore.exists(at: encrypted) {
        try SecureDatabaseStore.importPlaintext(from: store, to: encrypted, key: key)
    }
    try new.open(with: key)
    defer { new.close() }
    try new.migrate(libraryMigrations(convertingFrom: store))
}

func libraryMigrations(convertingFrom store: URL? = nil) -> SchemaMigrations {
    var migrations = SchemaMigrations()
    migrations.add(
        "library",
        sql: """
            CREATE TABLE author (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born REAL);
            CREATE TABLE book (
                id INTEGER PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, isRead INTEGER,
                publishedAt REAL, price REAL, uniqueID TEXT NOT NULL UNIQUE, cover BLOB,
                author INTEGER REFERENCES author (id) ON DELETE SET NULL);
            CREATE TABLE tag (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
            CREATE TABLE bookTag (
                book INTEGER NOT NULL REFERENCES book (id) ON DELETE CASCADE,
                tag INTEGER NOT NULL REFERENCES tag (id) ON DELETE CASCADE,
                PRIMARY KEY (book, tag)) WITHOUT ROWID;
            """)
    migrations.add("rows of Core Data") { db in
        guard try db.tableExists("Z_PRIMARYKEY") else { return }
        try db.executeStatements(
            """
            INSERT INTO author SELECT Z_PK, ZNAME, ZBORN + 978307200 FROM ZAUTHOR;
            INSERT INTO book
                SELECT b.Z_PK, entity.Z_NAME, ZTITLE, ZISREAD, ZPUBLISHEDAT + 978307200, ZPRICE,
                    format('%s-%s-%s-%s-%s', substr(hex(ZUNIQUEID), 1, 8),
                        substr(hex(ZUNIQUEID), 9, 4), substr(hex(ZUNIQUEID), 13, 4),
                        substr(hex(ZUNIQUEID), 17, 4), substr(hex(ZUNIQUEID), 21)),
                    ZCOVER, ZAUTHOR
                FROM ZBOOK AS b JOIN Z_PRIMARYKEY AS entity USING (Z_ENT);
            INSERT INTO tag SELECT Z_PK, ZNAME FROM ZTAG;
            INSERT INTO bookTag SELECT Z_2BOOKS, Z_5TAGS FROM Z_2TAGS;
            """)
        let covers = try db.fetchAll("SELECT id, cover FROM book WHERE cover IS NOT NULL") {
            (id: Int64, cover: Data) in (id, cover)
        }
        for (id, cover) in covers {
            let value = try coreDataValue(cover, store: store)
            try db.update(["cover": value], in: "book", key: ["id": id])
        }
        // Core Data's own tables, with their triggers, which call functions that only it has.
        for table in try db.fetchAll(coreDataTables, map: { (name: String) in name }) {
            try db.executeUpdate("DROP TABLE \"\(table)\"")
        }
    }
    return migrations
}

let coreDataTables: SQL = """
    SELECT name FROM sqlite_schema WHERE type = 'table'
        AND (name GLOB 'Z[A-Z_]*' OR name IN ('ACHANGE', 'ATRANSACTION', 'ATRANSACTIONSTRING'))
    """

/// Returns the bytes of an attribute that allows external storage.
func coreDataValue(_ stored: Data, store: URL?) throws -> Data {
    switch stored.first {
    case 1: return stored.dropFirst()
    case 2:
        guard let store else { throw CocoaError(.fileNoSuchFile) }
        let name = String(decoding: stored.dropFirst().prefix { $0 != 0 }, as: UTF8.self)
        let folder = ".\(store.deletingPathExtension().lastPathComponent)_SUPPORT/_EXTERNAL_DATA"
        return try Data(
            contentsOf: store.deletingLastPathComponent()
                .appendingPathComponent(folder).appendingPathComponent(name))
    default: throw CocoaError(.fileReadCorruptFile)
    }
}
