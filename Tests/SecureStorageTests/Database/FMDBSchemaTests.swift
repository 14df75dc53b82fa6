import Foundation
import SecureStorage
import Testing
import TestSupport

@Suite struct FMDBSchemaTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore()
        try db.executeStatements(
            """
            CREATE TABLE "Odd 'name" (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE DEFAULT 'x',
                                      twice AS (id * 2));
            CREATE VIEW v AS SELECT id FROM "Odd 'name";
            CREATE INDEX i ON "Odd 'name" (text, id);
            CREATE TEMP TABLE passing (a);
            """)
    }

    @Test func `FMDB tableExists: in any case, tables only`() throws {
        #expect(try db.tableExists("Odd 'name"))
        #expect(try db.tableExists("ODD 'NAME"))
        #expect(try db.tableExists("passing"))
        for name in ["v", "i", "nobody", "", "Odd 'name\0", "Odd%"] {
            #expect(try !db.tableExists(name), "\(name)")
        }
        db.close()
        #expect(storageError { _ = try db.tableExists("v") } == .closed)
    }

    @Test func `FMDB columnExists:inTableWithName: in any case, generated columns too`() throws {
        #expect(try db.columnExists("TEXT", inTable: "odd 'NAME"))
        #expect(try db.columnExists("twice", inTable: "Odd 'name"))
        #expect(try db.columnExists("id", inTable: "v"))
        #expect(try !db.columnExists("nobody", inTable: "v"))
        #expect(try !db.columnExists("id", inTable: "nobody"))
        #expect(try !db.columnExists("id", inTable: "v\0"))
        #expect(try !db.columnExists("id\0", inTable: "v"))
    }

    @Test func `FMDB getSchema: type, name, tbl_name, rootpage, sql`() throws {
        let rs = try db.schema()
        #expect(
            (0..<5).map { rs.columnName(forIndex: $0) } == [
                "type", "name", "tbl_name", "rootpage", "sql",
            ])
        var found: [String] = []
        while try rs.next() {
            found.append(
                "\(rs.string(forColumnName: "type") ?? "") \(rs.string(forColumnName: "name") ?? "")"
            )
        }
        #expect(found == ["table Odd 'name", "index i", "table passing", "view v"])
    }

    @Test func `FMDB getTableSchema: the rows of table_info, for any name`() throws {
        let rs = try db.tableSchema("odd 'name")
        #expect(try rs.next())
        #expect(rs.string(forColumnName: "name") == "id")
        #expect(rs.int(forColumnName: "pk") == 1)
        #expect(try rs.next())
        #expect(rs.int(forColumnName: "notnull") == 1)
        #expect(rs.string(forColumnName: "dflt_value") == "'x'")
        #expect(try !rs.next())
        for name in ["nobody", "", "v\0", "v) --"] {
            #expect(try !db.tableSchema(name).next(), "\(name)")
        }
    }

    @Test func `FMDB validateSQL: prepares and does not run`() throws {
        try db.validateSQL("DROP TABLE passing")
        try db.validateSQL("SELECT * FROM v WHERE id = ?")
        #expect(try db.tableExists("passing"))
        for sql in [
            "SELEC 1", "SELECT * FROM nobody", "", "SELECT 1; SELECT 2", "SELECT nobody(1)",
        ] {
            #expect(storageError { try db.validateSQL(sql) }?.code == 1, "\(sql)")
        }
    }

    @Test(
        arguments: [
            "PRAGMA foreign_keys = OFF", "pragma foreign_keys = OFF",
            " ;\n-- c\n/* * / */ PRAGMA/**/foreign_keys = OFF", "EXPLAIN PRAGMA foreign_keys = OFF",
            "EXPLAIN /**/QUERY PLAN PRAGMA foreign_keys = OFF", "\u{FEFF}PRAGMA foreign_keys = OFF",
        ])
    func `FMDB validateSQL: refuses a PRAGMA, which would take effect`(_ sql: String) throws {
        #expect(storageError { try db.validateSQL(sql) }?.code == 21)
        #expect(try db.int(forQuery: "PRAGMA foreign_keys") == 1)
    }

    @Test func `FMDB userVersion, applicationID, applicationIDString`() throws {
        #expect(try db.userVersion == 0)
        #expect(try db.applicationID == 0)
        #expect(try db.applicationIDString == nil)
        for version in [1, Int32.max, .min] {
            try db.setUserVersion(version)
            #expect(try db.userVersion == version)
        }
        for identifier in [1, UInt32.max] {
            try db.setApplicationID(identifier)
            #expect(try db.applicationID == identifier)
            #expect(try db.applicationIDString == nil)
        }
        try db.setApplicationIDString("GPKG")
        #expect(try db.applicationID == 0x4750_4B47)
        for text in ["", "abc", "abcde", "äb", "ab\nc"] {
            #expect(storageError { try db.setApplicationIDString(text) }?.code == 21)
        }
        db.close()
        try db.open(with: TemporaryDatabase.key)
        #expect(try db.applicationIDString == "GPKG")
        #expect(try db.userVersion == .min)
    }

    @Test(.enabled(if: SQLCipherShell.isInstalled))
    func `FMDB userVersion is what the sqlcipher shell reads`() throws {
        try db.setUserVersion(-7)
        try db.setApplicationIDString("abcd")
        db.close()
        let shell = try SQLCipherShell(
            database.path, key: "x'\(TemporaryDatabase.key.hex)'",
            "PRAGMA user_version; PRAGMA application_id;")
        #expect(shell.lines == ["-7", "1633837924"])
    }
}
