import Foundation
import SecureStorage
import Testing
import TestSupport

/// The tokenizer for Chinese, Japanese and Korean, in the engine.
@Suite(.engine(has: "ENABLE_FTS5")) struct CJKTokenizerTests {
    let database: TemporaryDatabase
    let db: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        db = try database.openStore { $0.tokenizers = [CJKTokenizer.self] }
        try db.executeUpdate("CREATE VIRTUAL TABLE t USING fts5(x, tokenize = 'cjk')")
    }

    private func highlights(_ text: String, _ query: String, isPrefix: Bool = false) throws
        -> String?
    {
        try db.executeUpdate("DELETE FROM t")
        try db.executeUpdate("INSERT INTO t VALUES (?)", values: [text])
        let table = try db.fullTextTable("t")
        return try db.fetchOne(
            "SELECT \(try table.highlight("x", from: "[", to: "]")) FROM t WHERE t MATCH ?",
            values: [FullTextQuery(query, isLastWordPrefix: isPrefix)]
        ) { (text: String) in text }
    }

    @Test(arguments: [
        // A word, one character, the last one, and over the end of a word of another script.
        ("私は日本語を話します", "日本語", "私は[日本語]を話します"), ("私は猫が好き", "猫", "私は[猫]が好き"),
        ("黒猫", "猫", "黒[猫]"), ("iPhone用ケース", "iphone用", "[iPhone用]ケース"),
        ("iPhone用ケース", "用ケ", "iPhone[用ケ]ース"), ("中文文档", "文文", "中[文文]档"),
        ("日本 日本", "日本", "[日本] [日本]"), ("한국어 배우기", "국어", "한[국어] 배우기"),
        ("東京都と京都", "京都", "東[京都]と[京都]"), ("人人人", "人人", "[人人人]"),
        // Emoji, with their own marks and joiners, beside both.
        ("👨‍👩‍👧家族❤️愛", "家族", "👨‍👩‍👧[家族]❤️愛"), ("🇯🇵日本🇯🇵", "日本", "🇯🇵[日本]🇯🇵"),
        ("👍🏽ok👍🏽", "ok", "👍🏽[ok]👍🏽"),
        // Composed and decomposed, both ways.
        ("か\u{3099}くせい", "がくせい", "[か\u{3099}くせい]"), ("がくせい", "か\u{3099}くせい", "[がくせい]"),
        ("\u{1112}\u{1161}\u{11ab}글", "한글", "[\u{1112}\u{1161}\u{11ab}글]"),
        ("한글", "\u{1112}\u{1161}\u{11ab}글", "[한글]"), ("葛\u{e0100}城", "葛城", "[葛\u{e0100}城]"),
        ("cafe\u{301} noir", "café", "[cafe\u{301}] noir"), ("Ελλάδος", "ελλαδοσ", "[Ελλάδος]"),
        // Folding.
        ("CRÈME Brûlée", "creme brulee", "[CRÈME] [Brûlée]"), ("ＡＢＣ１２", "abc12", "[ＡＢＣ１２]"),
        ("İstanbul", "istanbul", "[İstanbul]"), ("ÅNGSTRÖM", "angstrom", "[ÅNGSTRÖM]"),
        ("Ёлка", "елка", "[Ёлка]"), ("שָׁלוֹם", "שלום", "[שָׁלוֹם]"), ("हिन्दी भाषा", "हिन्दी", "[हिन्दी] भाषा"),
        ("a\u{0}b 日\u{0}本", "b", "a\u{0}[b] 日\u{0}本"),
    ])
    func `what is found is highlighted exactly`(
        _ text: String, _ query: String, _ expected: String
    ) throws {
        // Not compared as texts, for which spellings are equal.
        let found = try highlights(text, query).map { Array($0.utf8) }
        let wanted = Array(expected.utf8)
        // The engine's functions end at a NUL.
        if !text.contains("\0") { check(found, equals: wanted) } else { check(found != nil) }
    }

    @Test(arguments: [
        ("日本語", "本日"), ("かくせい", "がくせい"), ("日本 語", "本語"), ("猫", "犬"), ("❤️", "❤️"),
        ("abc", "ab"), ("東京", "東京都"),
    ])
    func `what is not there is not found`(_ text: String, _ query: String) throws {
        try check(highlights(text, query) == nil)
    }

    @Test func `the last characters of a query are the beginning of words and of runs`() throws {
        try check(highlights("日本語", "日", isPrefix: true), equals: "[日]本語")
        try check(highlights("日本語", "日本", isPrefix: true), equals: "[日本]語")
        try check(
            highlights("international 日本", "日本 inter", isPrefix: true),
            equals: "[international] [日本]"
        )
    }

    @Test func `diacritics make a difference if they are kept`() throws {
        try db.executeUpdate(
            "CREATE VIRTUAL TABLE u USING fts5(x, tokenize = 'cjk remove_diacritics 0')")
        try db.executeUpdate("INSERT INTO u VALUES ('Café')")
        try check(db.int("SELECT count(*) FROM u WHERE u MATCH 'café'"), equals: 1)
        try check(db.int("SELECT count(*) FROM u WHERE u MATCH 'cafe'"), equals: 0)
        for arguments in ["remove_diacritics 2", "remove_diacritics", "x"] {
            check(
                storageError {
                    try db.executeUpdate(
                        "CREATE VIRTUAL TABLE v USING fts5(x, tokenize = 'cjk \(arguments)')")
                }?.description.contains("remove_diacritics 0 or 1"), equals: true)
        }
    }

    @Test
    func `any bytes can be stored and searched, and any part of a text of characters is found`()
        throws
    {
        var random = SplitMix64(seed: 11)
        let alphabet = Array("日本語東京か\u{3099}がカ한글aé1 。👍🏽\u{301}ー".unicodeScalars)
        let table = try db.fullTextTable("t")
        let sql: SQL = """
            SELECT \(try table.highlight("x", from: "", to: "")), \(try table.snippet(from: "", to: ""))
            FROM t WHERE t MATCH ?
            """
        for round in 0..<environmentNumber("SECURESTORAGE_ROUNDS", default: 600) {
            try db.executeUpdate("DELETE FROM t")
            var bytes: [UInt8] = []
            for _ in 0..<Int.random(in: 0...20, using: &random) {
                if Int.random(in: 0..<6, using: &random) == 0 {
                    bytes.append(.random(in: 1...255, using: &random))
                } else if let scalar = alphabet.randomElement(using: &random) {
                    bytes += Array(String(scalar).utf8)
                }
            }
            try db.executeUpdate("INSERT INTO t VALUES (CAST(? AS TEXT))", values: [Data(bytes)])
            try db.executeUpdate("INSERT INTO t(t) VALUES ('integrity-check')")
            // A part of it, as far as that is a text.
            let start = Int.random(in: 0...bytes.count, using: &random)
            let part = bytes[start..<Int.random(in: start...bytes.count, using: &random)]
            let query = FullTextQuery(String(decoding: part, as: UTF8.self))
            let texts = try db.fetchAll("SELECT CAST(x AS BLOB) FROM t", values: []) { (x: Data) in
                x
            }
            check(texts, equals: [Data(bytes)], "round \(round)")
            // With empty marks, highlighting leaves the text as it is.
            guard let text = String(validating: bytes, as: UTF8.self) else {
                #expect(throws: Never.self) {
                    _ = try db.int(
                        "SELECT length(highlight(t, 0, '[', ']')) FROM t WHERE t MATCH 'a'")
                }
                continue
            }
            let found = try db.fetchAll(sql, values: [query]) { (a: String, b: String) in a }
            check(found.allSatisfy { Array($0.utf8) == Array(text.utf8) }, "round \(round)")
        }
    }

    @Test func `any run of characters is found by each of its parts`() throws {
        var random = SplitMix64(seed: 12)
        let alphabet = Array("日本語東京都人かがカ한글中文")
        for round in 0..<200 {
            let text = String(
                (0..<Int.random(in: 1...12, using: &random)).compactMap { _ in
                    alphabet.randomElement(using: &random)
                })
            let start = Int.random(in: 0..<text.count, using: &random)
            let length = Int.random(in: 1...(text.count - start), using: &random)
            let part = String(text.dropFirst(start).prefix(length))
            let marked = try highlights(text, part)
            check(
                marked?.contains(part) == true || part.count == 1,
                "round \(round): \(part) in \(text)")
            check(
                marked?.filter { !"[]".contains($0) }, equals: text,
                "round \(round): \(part) in \(text)")
        }
    }
}
