import TestSupport
import Testing

@testable import SecureStorage

struct QuerySummaryTests {
    @Test(arguments: [
        ("SELECT * FROM note WHERE id = ?", "SELECT note"),
        (
            "select a FROM note AS n, \"tag list\" t, [x y] JOIN main.item",
            "SELECT note \"tag list\" [x y] main.item"
        ),
        ("INSERT OR REPLACE INTO note VALUES (?, ?)", "INSERT note VALUES"),
        ("REPLACE INTO note SELECT * FROM old", "REPLACE note SELECT old"),
        ("SELECT replace(a, ?, ?) FROM t", "SELECT t"),
        ("INSERT INTO t VALUES (?) ON CONFLICT DO UPDATE SET a = ?", "INSERT t VALUES"),
        ("UPDATE OR IGNORE note SET text = ?", "UPDATE note"),
        ("UPDATE a.b SET c = (SELECT max(x) FROM d)", "UPDATE a.b SELECT d"),
        ("DELETE FROM note WHERE a IS NOT DISTINCT FROM b", "DELETE note"),
        ("WITH n (i) AS (SELECT ?) SELECT i FROM n", "SELECT SELECT n"),
        ("SELECT * FROM (SELECT a FROM b), c", "SELECT SELECT b"),
        ("SELECT CASE WHEN a THEN b END FROM t", "SELECT t"),
        ("CREATE TABLE IF NOT EXISTS note (id INTEGER PRIMARY KEY)", "CREATE TABLE note"),
        ("CREATE VIRTUAL TABLE f USING fts5 (text)", "CREATE TABLE f"),
        ("CREATE UNIQUE INDEX i ON t (a)", "CREATE INDEX i"),
        (
            "CREATE TEMP TRIGGER g AFTER UPDATE OF a ON t BEGIN DELETE FROM u; END",
            "CREATE TRIGGER g"
        ),
        ("DROP VIEW IF EXISTS v", "DROP VIEW v"),
        ("ALTER TABLE t RENAME TO u", "ALTER TABLE t"),
        ("PRAGMA user_version = ?", "PRAGMA user_version"),
        ("BEGIN IMMEDIATE", "BEGIN"), ("COMMIT", "COMMIT"),
        ("SAVEPOINT \"customer 17\"", "SAVEPOINT"), ("ROLLBACK TO s", "ROLLBACK"),
        ("ATTACH ? AS ? KEY ?", "ATTACH"),
        ("EXPLAIN QUERY PLAN SELECT a FROM t", "EXPLAIN SELECT t"),
        ("VALUES (?)", "VALUES"), ("", ""), ("SELECT \"unclosed FROM t", "SELECT"),
        ("FROM", ""), ("SELECT ? FROM", "SELECT"), ("é", ""),
    ])
    func `a summary has the operations and their tables`(_ sql: String, _ summary: String) {
        check(QuerySummary.summary(of: sql), equals: summary)
    }

    @Test func `a summary has at most 255 bytes, and no part of a name`() {
        let names = (0..<40).map { "table_\($0)" }
        let summary = QuerySummary.summary(of: "SELECT * FROM " + names.joined(separator: ", "))
        check(summary.utf8.count <= 255)
        check(summary.utf8.count > 240)
        check(summary.split(separator: " ").dropFirst().allSatisfy { names.contains(String($0)) })
    }
}
