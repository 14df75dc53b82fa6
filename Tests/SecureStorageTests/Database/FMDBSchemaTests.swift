import Foundation
import SecureStorage
import Testing
import TestSupport

struct FMDBSchemaTests {
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
        try check(db.tableExists("Odd 'name"))
        try check(db.tableExists("ODD 'NAME"))
        try check(db.tableExists("passing"))
        for name in ["v", "i", "nobody", "", "Odd 'name\0", "Odd%"] {
            try check(!db.tableExists(name), "\(name)")
        }
        db.close()
        check(storageError { _ = try db.tableExists("v") }, equals: .closed)
    }

    @Test func `FMDB columnExists:inTableWithName: in any case, generated columns too`() throws {
        try check(db.columnExists("TEXT", inTable: "odd 'NAME"))
        try check(db.columnExists("twice", inTable: "Odd 'name"))
        try check(db.columnExists("id", inTable: "v"))
        try check(!db.columnExists("nobody", inTable: "v"))
        try check(!db.columnExists("id", inTable: "nobody"))
        try check(!db.columnExists("id", inTable: "v\0"))
        try check(!db.columnExists("id\0", inTable: "v"))
    }

    @Test func `FMDB getSchema: type, name, tbl_name, rootpage, sql`() throws {
        let rs = try db.schema()
        check(
            (0..<5).map { rs.columnName(forIndex: $0) },
            equals: [
                "type", "name", "tbl_name", "rootpage", "sql",
            ])
        var found: [String] = []
        while try rs.next() {
            found.append(
                "\(rs.string(forColumnName: "type") ?? "") \(rs.string(forColumnName: "name") ?? "")"
            )
        }
        check(found, equals: ["table Odd 'name", "index i", "table passing", "view v"])
    }

    @Test func `FMDB getTableSchema: the rows of table_info, for any name`() throws {
        let rs = try db.tableSchema("odd 'name")
        try check(rs.next())
        check(rs.string(forColumnName: "name"), equals: "id")
        check(rs.int(forColumnName: "pk"), equals: 1)
        try check(rs.next())
        check(rs.int(forColumnName: "notnull"), equals: 1)
        check(rs.string(forColumnName: "dflt_value"), equals: "'x'")
        try check(!rs.next())
        for name in ["nobody", "", "v\0", "v) --"] {
            try check(!db.tableSchema(name).next(), "\(name)")
        }
    }

    @Test func `FMDB validateSQL: prepares and does not run`() throws {
        try db.validateSQL("DROP TABLE passing")
        try db.validateSQL("SELECT * FROM v WHERE id = ?")
        try check(db.tableExists("passing"))
        for sql in [
            "SELEC 1", "SELECT * FROM nobody", "", "SELECT 1; SELECT 2", "SELECT nobody(1)",
        ] {
            check(storageError { try db.validateSQL(sql) }?.code, equals: 1, "\(sql)")
        }
    }

    @Test(
        arguments: [
            "PRAGMA foreign_keys = OFF", "pragma foreign_keys = OFF",
            " ;\n-- c\n/* * / */ PRAGMA/**/foreign_keys = OFF", "EXPLAIN PRAGMA foreign_keys = OFF",
            "EXPLAIN /**/QUERY PLAN PRAGMA foreign_keys = OFF", "\u{FEFF}PRAGMA foreign_keys = OFF",
        ])
    func `FMDB validateSQL: refuses a PRAGMA, which would take effect`(_ sql: String) throws {
        check(storageError { try db.validateSQL(sql) }?.code, equals: 21)
        try check(db.int(forQuery: "PRAGMA foreign_keys"), equals: 1)
    }

    @Test func `FMDB userVersion, applicationID, applicationIDString`() throws {
        try check(db.userVersion, equals: 0)
        try check(db.applicationID, equals: 0)
        try check(db.applicationIDString == nil)
        for version in [1, Int32.max, .min] {
            try db.setUserVersion(version)
            try check(db.userVersion, equals: version)
        }
        for identifier in [1, UInt32.max] {
            try db.setApplicationID(identifier)
            try check(db.applicationID, equals: identifier)
            try check(db.applicationIDString == nil)
        }
        try db.setApplicationIDString("GPKG")
        try check(db.applicationID, equals: 0x4750_4B47)
        for text in ["", "abc", "abcde", "äb", "ab\nc"] {
            check(storageError { try db.setApplicationIDString(text) }?.code, equals: 21)
        }
        db.close()
        try db.open(with: TemporaryDatabase.key)
        try check(db.applicationIDString, equals: "GPKG")
        try check(db.userVersion, equals: .min)
    }

    @Test(.enabled(if: SQLCipherShell.isInstalled))
    func `FMDB userVersion is what the sqlcipher shell reads`() throws {
        try db.setUserVersion(-7)
        try db.setApplicationIDString("abcd")
        db.close()
        let shell = try SQLCipherShell(
            database.path, key: "x'\(TemporaryDatabase.key.hex)'",
            "PRAGMA user_version; PRAGMA application_id;")
        check(shell.lines, equals: ["-7", "1633837924"])
    }
}
