import Foundation
import SecureStorage
import Testing
import TestSupport

/// Any text as a query of the engine's full-text search, and the SQL of its functions.
@Suite(.engine(has: "ENABLE_FTS5")) struct FullTextQueryTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore { $0.tokenizers = [CJKTokenizer.self] }
        try db.executeStatements(
            """
            CREATE VIRTUAL TABLE note USING fts5(title, body);
            INSERT INTO note VALUES ('shopping list', 'buy milk and bread'),
                ('letter', 'milk is not bread, don''t forget'), ('list', 'AND NOT OR NEAR');
            CREATE VIRTUAL TABLE cjk USING fts5(title, body, tokenize = 'cjk');
            INSERT INTO cjk SELECT * FROM note;
            """)
    }

    private func rows(_ query: FullTextQuery, in table: String = "note") throws -> [Int] {
        try db.fetchAll(
            """
            SELECT rowid FROM \(identifier: table) WHERE \(identifier: table) MATCH \(query)
            ORDER BY rowid
            """
        ) { (id: Int) in id }
    }

    @Test(arguments: [
        ("milk", [1, 2]), ("milk bread", [1, 2]), ("bread milk", [1, 2]), ("buy bread", [1]),
        ("mil", [1, 2]), ("mil bread", []), ("bread mil", [1, 2]), ("\"milk and bread\"", [1]),
        ("\"bread milk\"", []), ("\"milk an\"", []), ("\"milk an", [1]), ("don't", [2]),
        ("AND", [1, 3]), ("NOT", [2, 3]), ("near", [3]), ("-milk", [1, 2]), ("milk*", [1, 2]),
        ("body:milk", []), ("(milk", [1, 2]), ("milk \"", [1, 2]), ("", []), ("  \n", []),
        ("\"\"", []), ("***", []), ("milk ---", [1, 2]), ("--- milk", [1, 2]),
        ("\0milk\0", [1, 2]),
        ("milk\0bread", [1, 2]), ("list \"buy milk\"", [1]),
    ])
    func `all words, the last as a beginning, and phrases in quotes`(
        _ text: String, _ expected: [Int]
    ) throws {
        try check(rows(FullTextQuery(text)), equals: expected, "\(FullTextQuery(text).expression)")
    }

    @Test func `the last word is a whole one, and only some columns are searched, if asked for`()
        throws
    {
        try check(rows(FullTextQuery("mil", isLastWordPrefix: false)), equals: [])
        try check(rows(FullTextQuery("list", in: ["title"])), equals: [1, 3])
        try check(rows(FullTextQuery("list milk", in: ["title"])), equals: [])
        try check(rows(FullTextQuery("list milk", in: ["title", "body"])), equals: [1])
        check(
            storageError { _ = try rows(FullTextQuery("list", in: ["a\" : (b"])) }?.resultCode?
                .primary, equals: .error)
    }

    @Test func `no text is a syntax error, in any tokenizer and with any columns`() throws {
        let pieces = [
            "\"", "\"\"", "'", "*", "+", "-", "^", ":", "(", ")", "{", "}", ",", "AND", "OR", "NOT",
            "NEAR", "NEAR(", " ", "\t", "\n", "\0", "\u{feff}", "\u{200d}", "a", "milk", "1", "日本",
            "が", "か\u{3099}", "🇩🇪", "👨‍👩‍👧", "é", "e\u{301}", "\u{301}", "\u{1b}[0m", "--", "/*", "*/",
            ";",
            "\\", "%", "ᄒ", "ᅡ", "\u{10ffff}", "#", "body", "title :", "<b>", "?", "?1",
        ]
        var random = SplitMix64(seed: 7)
        for round in 0..<environmentNumber("SECURESTORAGE_ROUNDS", default: 3000) {
            var text = ""
            for _ in 0..<Int.random(in: 0...12, using: &random) {
                text += pieces.randomElement(using: &random) ?? ""
                if Int.random(in: 0..<8, using: &random) == 0,
                    let scalar = Unicode.Scalar(UInt32.random(in: 0...0x10ffff, using: &random))
                {
                    text.unicodeScalars.append(scalar)
                }
            }
            let columns = [[], ["body"], ["title", "body"]].randomElement(using: &random) ?? []
            let query = FullTextQuery(text, in: columns, isLastWordPrefix: .random(using: &random))
            #expect(throws: Never.self, "round \(round): \(query.expression.debugDescription)") {
                _ = try rows(query, in: round % 2 == 0 ? "note" : "cjk")
            }
        }
    }

    @Test func `a text of many words or many quotes is a query, too`() throws {
        for text in [
            String(repeating: "milk ", count: 2000), String(repeating: "\"milk\" ", count: 1000),
            String(repeating: "\"", count: 10_001), String(repeating: "x", count: 100_000),
        ] {
            #expect(throws: Never.self) { _ = try rows(FullTextQuery(text)) }
        }
    }

    // MARK: - Highlights and snippets

    @Test func `highlight and snippet name columns, in a table of any name`() throws {
        try db.executeUpdate(
            #"CREATE VIRTUAL TABLE "a ""b'c" USING fts5("x ""y", "select", [d'e])"#)
        try db.executeUpdate(
            #"INSERT INTO "a ""b'c" VALUES ('one', 'a long text with one word of it', 'one')"#)
        let table = try db.fullTextTable("A \"b'C")
        check(table.columns, equals: ["x \"y", "select", "d'e"])
        let sql: SQL = """
            SELECT \(try table.highlight("SELECT", from: "'[", to: "]\"")),
                   \(try table.highlight("x \"y", from: "<", to: ">")),
                   \(try table.snippet(of: "select", from: "", to: "", ellipsis: "…", tokenCount: 3)),
                   \(try table.snippet(from: "<", to: ">"))
            FROM \(table.sqlName) WHERE \(table.sqlName) MATCH ?
            """
        let row = try db.fetchOne(sql, values: [FullTextQuery("one")]) {
            (a: String, b: String, c: String, d: String) in [a, b, c, d]
        }
        check(row?[0], equals: "a long text with '[one]\" word of it")
        check(row?[1], equals: "<one>")
        check(row?[2].contains("one") == true && row?[2].contains("…") == true)
        check(row?[3].contains("<one>"), equals: true)
    }

    @Test func `quotation marks with combining marks are quotation marks to the engine`() throws {
        // To Swift, each of these is one character, and no quotation mark.
        let (name, mark) = ("q\"\u{301}, x", "'\u{301} || 'injected")
        try db.executeUpdate("CREATE VIRTUAL TABLE \"q\"\"\u{301}, x\" USING fts5(y)")
        let table = try db.fullTextTable(name)
        try db.executeUpdate("INSERT INTO \(table.sqlName) VALUES ('one')")
        let text = try db.fetchOne(
            """
            SELECT \(try table.highlight("y", from: mark, to: ""))
            FROM \(table.sqlName) WHERE \(table.sqlName) MATCH 'one'
            """
        ) { (text: String) in text }
        check(text.map { Array($0.utf8) }, equals: Array((mark + "one").utf8))
    }

    @Test func `a column, a mark or a table that there is not is refused`() throws {
        let table = try db.fullTextTable("note")
        for body: () throws -> SQL in [
            { try table.highlight("none", from: "<", to: ">") },
            { try table.highlight("title", from: "\0", to: ">") },
            { try table.snippet(of: "title) --", from: "<", to: ">") },
            { try table.snippet(from: "<", to: ">", tokenCount: 0) },
            { try table.snippet(from: "<", to: ">", tokenCount: 65) },
        ] {
            check(storageError { _ = try body() }?.resultCode, equals: .misuse)
        }
        try db.executeUpdate("CREATE TABLE plain (x)")
        for name in ["plain", "missing", "note\0", ""] {
            check(storageError { _ = try db.fullTextTable(name) }?.resultCode, equals: .error)
        }
    }
}
