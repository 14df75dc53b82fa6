import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// The snippets of `Docs/FullTextSearch.md`; see `DocumentedSnippets`.
@Suite(.engine(has: "ENABLE_FTS5")) struct FullTextSnippets {
    // begin
    private struct Hit: Sendable { var title: String, text: String }

    struct Lines: FullTextTokenizer {
        static let name = "lines"

        init(arguments: [String]) {}

        func tokenize(
            _ text: UnsafeBufferPointer<UInt8>, for purpose: FullTextPurpose,
            into tokens: borrowing FullTextTokens
        ) throws {
            var start = 0
            let newline = UInt8(ascii: "\n")
            for line in text.split(separator: newline, omittingEmptySubsequences: false) {
                let range = start..<start + line.count
                if !line.isEmpty { try tokens.add(UnsafeBufferPointer(rebasing: line), at: range) }
                start = range.upperBound + 1
            }
        }
    }
    // end

    @Test func `a search in two columns`() throws {
        let database = try TemporaryDatabase()
        let (databaseURL, key) = (database.url, DatabaseKey.passphrase("correct horse"))
        // begin
        var configuration = SecureDatabaseConfiguration()
        configuration.tokenizers = [CJKTokenizer.self]
        let pool = SecureDatabasePool(url: databaseURL, configuration: configuration)
        try pool.open(with: key)
        try pool.write { db in
            try db.executeUpdate(
                "CREATE VIRTUAL TABLE note_text USING fts5(title, text, tokenize = 'cjk')")
        }
        // end
        try pool.write { db in
            try db.executeUpdate("INSERT INTO note_text VALUES ('東京の旅', 'a week in 東京都')")
        }
        let typed = "week 東京"
        try pool.read { db in
            // begin
            let rs = try db.executeQuery(
                "SELECT rowid FROM note_text WHERE note_text MATCH ? ORDER BY rank",
                values: [FullTextQuery(typed)])
            // end
            try check(rs.next())
        }
        try pool.read { db in
            // begin
            let notes = try db.fullTextTable("note_text")
            let hits = try db.fetchAll(
                """
                SELECT \(try notes.highlight("title", from: "[", to: "]")),
                       \(try notes.snippet(of: "text", from: "[", to: "]"))
                FROM \(notes.sqlName) WHERE \(notes.sqlName) MATCH \(FullTextQuery(typed)) ORDER BY rank
                """
            ) { (title: String, text: String) in Hit(title: title, text: text) }
            // end
            check(hits.map(\.title), equals: ["[東京]の旅"])
            check(hits.map(\.text), equals: ["a [week] in [東京]都"])
        }
        pool.close()
    }

    @Test func `a log by its lines`() throws {
        let database = try TemporaryDatabase()
        let db = try database.openStore { $0.tokenizers = [Lines.self] }
        try db.executeUpdate("CREATE VIRTUAL TABLE log USING fts5(text, tokenize = 'lines')")
        try db.executeUpdate("INSERT INTO log VALUES (?)", values: ["disk full\n\nretried"])
        try check(db.int("SELECT count(*) FROM log WHERE log MATCH '\"disk full\"'"), equals: 1)
        try check(db.int("SELECT count(*) FROM log WHERE log MATCH '\"disk\"'"), equals: 0)
    }
}
