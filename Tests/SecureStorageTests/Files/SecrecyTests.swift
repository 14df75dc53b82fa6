import Foundation
import SecureStorage
import Testing
import TestSupport

/// No plaintext reaches a file, whatever its name.
struct SecrecyTests {
    typealias JournalMode = SecureDatabaseConfiguration.JournalMode

    let database: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
    }

    @Test func `the search finds a text in a plain database`() throws {
        try Fixture.copy("plaintext.db", to: database)
        let places = try Marker.places(
            in: [database.directory.path], patterns: [Data("written by SQLite".utf8)])
        check(places.contains(database.path))
        try check(Marker.places(in: [database.directory.path]).isEmpty)
    }

    #if os(Linux)
        @Test func `the search finds a text in an open, unlinked file`() async {
            await #expect(processExitsWith: .success) {
                let path = NSTemporaryDirectory() + "SecureStorageTests-\(UUID().uuidString)"
                let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL, 0o600)
                unlink(path)
                write(descriptor, Marker.text, Marker.text.utf8.count)
                let places = try Marker.placesInOpenFiles()
                check(places, equals: ["/proc/self/fd/\(descriptor)"])
            }
        }
    #endif

    @Test(arguments: JournalMode.allCases)
    func `a marked text is in no file, whatever is done with it`(_ mode: JournalMode) async throws {
        let temporary = try TemporaryDatabase()
        await #expect(processExitsWith: .success) {
            [
                path = database.path as String, mode = mode.rawValue as String,
                temporary = temporary.directory.path as String
            ] in
            setenv("TMPDIR", temporary, 1)
            setenv("SQLITE_TMPDIR", temporary, 1)
            try SecrecyTests.workWithMarkers(path, mode, temporary, dies: false)
        }
        try check(
            Marker.places(in: [database.directory.path, temporary.directory.path]), equals: [])
        try check(database.fileNames(), equals: ["test.db"])
        try check(temporary.fileNames(), equals: [])
    }

    @Test(arguments: JournalMode.allCases)
    func `a marked text is in no file that a kill leaves`(_ mode: JournalMode) async throws {
        await #expect(processExitsWith: .signal(SIGKILL)) {
            [path = database.path as String, mode = mode.rawValue as String] in
            try SecrecyTests.workWithMarkers(path, mode, nil, dies: true)
        }
        try check(database.fileNames().count > 1)
        try check(Marker.places(in: [database.directory.path]), equals: [])
    }

    /// Does everything that makes SQLite write: transactions larger than the cache, journals,
    /// indexes, sorting, VACUUM.
    ///
    /// Searches the files after every step, while the store is open.
    private static func workWithMarkers(
        _ path: String, _ mode: String, _ temporary: String?, dies: Bool
    ) throws {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = try require(.init(rawValue: mode))
        configuration.cacheSize = 16 * 1024
        configuration.cipher.kdfIterations = 1000
        let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
        let directories =
            [path.replacingOccurrences(of: "/test.db", with: "")]
            + [temporary].compactMap { $0 }
        func search(_ step: String) throws {
            try check(Marker.places(in: directories), equals: [], "\(step)")
            #if os(Linux)
                try check(Marker.placesInOpenFiles(), equals: [], "\(step)")
            #endif
        }
        try db.open(with: "passphrase with \(Marker.text)") { store in
            storageError {
                // In names too, because the schema is content.
                try store.executeUpdate(
                    "CREATE TABLE \(Marker.text) (id INTEGER PRIMARY KEY, x, y)")
            }
        }
        try search("the schema")
        for number in 1...200 {
            let text = "\(number) \(Marker.text) " + String(repeating: "filler ", count: 50)
            try db.executeUpdate(
                "INSERT INTO \(Marker.text) (x, y) VALUES (?, ?)", values: [text, Marker.blob])
        }
        try search("inserts")
        try db.executeStatements(
            """
            CREATE VIRTUAL TABLE f USING fts5(x);
            INSERT INTO f SELECT x FROM \(Marker.text);
            CREATE INDEX i ON \(Marker.text) (x, y);
            CREATE TEMP TABLE copy AS SELECT * FROM \(Marker.text);
            """)
        try search("indexes and temporary tables")
        let rs = try db.executeQuery(
            "SELECT a.x || b.y FROM \(Marker.text) a, \(Marker.text) b ORDER BY 1 LIMIT 10")
        try check(rs.next())
        try search("in the middle of sorted rows")
        rs.close()
        try db.beginExclusiveTransaction()
        try db.executeStatements(
            "SAVEPOINT s; UPDATE \(Marker.text) SET x = x || '\(Marker.text)'")
        try search("in a savepoint")
        try db.executeStatements("ROLLBACK TO s; RELEASE s")
        try db.executeStatements("UPDATE \(Marker.text) SET y = y || x")
        try search("in a transaction")
        if dies { SuddenDeath.now() }
        try db.rollback()
        try db.executeUpdate("DELETE FROM \(Marker.text) WHERE id % 2")
        try search("after DELETE")
        try db.executeUpdate("VACUUM")
        try search("after VACUUM")
        try db.changeEncryptionKey(with: "another")
        try search("after a re-key")
        db.close()
        try search("closed")
    }

    /// Temporary data stays in memory: no descriptor is free for a file.
    @Test func `sorting and VACUUM need no temporary file`() async {
        await #expect(processExitsWith: .success) { [path = database.path as String] in
            var configuration = SecureDatabaseConfiguration()
            configuration.cacheSize = 16 * 1024
            let db = SecureDatabaseStore(fullDatabasePath: path, configuration: configuration)
            try db.open(with: TemporaryDatabase.key)
            try db.executeStatements(
                """
                CREATE TABLE t (x);
                WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)
                INSERT INTO t SELECT randomblob(500) FROM n;
                """)
            // Requesting files is refused.
            let refusal = storageError { try db.executeStatements("PRAGMA temp_store = FILE") }
            check(refusal?.code, equals: 23)
            try Descriptors.withOnly(0) {
                try check(
                    db.strings("SELECT hex(x) FROM (SELECT x FROM t ORDER BY x) LIMIT 1").count,
                    equals: 1)
                try db.executeStatements(
                    """
                    CREATE TEMP TABLE copy AS SELECT x FROM t ORDER BY x;
                    CREATE INDEX i ON t (x);
                    VACUUM;
                    """)
            }
        }
    }

    @Test func `neither the passphrase nor the key is in a file`() throws {
        let passphrase = "a passphrase to look for"
        let db = database.store()
        try db.open(with: passphrase)
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        try db.changeEncryptionKey(with: TemporaryDatabase.key)
        let patterns = [
            Data(passphrase.utf8), TemporaryDatabase.key, Data(TemporaryDatabase.key.hex.utf8),
        ]
        for _ in 1...2 {
            try check(
                Marker.places(in: [database.directory.path], patterns: patterns), equals: [])
            db.close()
        }
    }
}
