import Foundation
import TestSupport
import Testing

@testable import SecureStorage

struct LiteralFreeTextTests {
    @Test(arguments: [
        ("SELECT 'a', \"b\", `c`, [d] FROM t", "SELECT ?, \"b\", `c`, [d] FROM t"),
        ("SELECT 'it''s', x'00ff', X'1' FROM t1", "SELECT ?, ?, ? FROM t1"),
        ("SELECT 1, -2.5e-10, .5, 0x1F, 1_000, a1, t.b2", "SELECT ?, -?, ?, ?, ?, a1, t.b2"),
        ("SELECT ?, ?12, :name, @name, $name", "SELECT ?, ?12, :name, @name, $name"),
        ("  SELECT\n\t a -- 'secret'\n FROM /* 42 */ t", "SELECT a FROM t"),
        ("SELECT a->>'$.secret' FROM t LIMIT 10-1", "SELECT a->>? FROM t LIMIT ?-?"),
        ("SELECT 'not closed", "SELECT ?"), ("SELECT \"not closed", "SELECT \"not closed"),
        ("SELECT a /* not closed", "SELECT a"), ("SELECT 'é𝄞', é FROM 表", "SELECT ?, é FROM 表"),
        ("PRAGMA journal_mode = wal", "PRAGMA journal_mode =?"),
        ("PRAGMA main.cache_size(-2000)", "PRAGMA main.cache_size(?)"),
        ("pragma user_version", "pragma user_version"),
        ("ATTACH 'a.db' AS x KEY 'secret'", "ATTACH ? AS ? KEY ?"),
        ("attach database \"a.db\" as x key secret", "attach database ? as ? key ?"),
        ("\u{feff}/**/ATTACH [a.db] AS x KEY `secret`", "ATTACH ? AS ? KEY ?"),
        ("SAVEPOINT secret", "SAVEPOINT ?"),
        ("release savepoint \"secret\"", "release savepoint ?"),
        ("ROLLBACK TRANSACTION TO secret", "ROLLBACK TRANSACTION TO ?"), ("ROLLBACK", "ROLLBACK"),
        ("EXPLAIN QUERY PLAN SELECT 1", "EXPLAIN QUERY PLAN SELECT ?"), ("", ""),
    ]) func `literals are replaced, names and placeholders stay`(sql: String, expected: String) {
        check(SQLText.withoutLiterals(sql), equals: expected)
    }

    @Test func `a long text is cut between two words`() {
        let sql = "SELECT " + Array(repeating: "column_é", count: 10_000).joined(separator: ", ")
        let text = SQLText.withoutLiterals(sql)
        check(text.hasSuffix("…"))
        check(text.utf8.count < 4200)
        check(sql.hasPrefix(text.dropLast()))
    }

    @Test func `any bytes are read to their end`() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            // No quotation marks of names, in which an apostrophe stays.
            "'", "''", "--", "/*", "*/", "1e", "0x", ".", "x'", "?", ":", "a", "\n",
            "é", "PRAGMA ", "=", "(", "ATTACH ", "\u{feff}", ";",
        ]
        for _ in 0..<5000 {
            let sql = (0..<Int.random(in: 0...12, using: &generator))
                .map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
            let text = SQLText.withoutLiterals(sql)
            check(!text.contains("'"), "\(sql)")
        }
    }
}
