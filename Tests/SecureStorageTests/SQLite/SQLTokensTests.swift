import TestSupport
import Testing

@testable import SecureStorage

struct SQLTokensTests {
    private func kinds(_ sql: String) -> [SQLTokens.Kind] {
        var sql = sql
        return sql.withUTF8 { SQLTokens($0).filter { $0.kind != .blank }.map(\.kind) }
    }

    @Test(
        arguments: [
            ("a$1 _b \u{e9}t\u{e9}", [.word, .word, .word]),
            ("'it''s' \"a\"\"b\" `c``d` [e[f]", [.text, .quotedName, .quotedName, .quotedName]),
            ("x'0a' X'' xy'z'", [.blob, .blob, .word, .text]),
            (
                "1 .5 1e-3 0x1e-3 1.e+4",
                [.number, .number, .number, .number, .other, .number, .number]
            ),
            ("? ?1 :a @b $c #d", Array(repeating: .parameter, count: 6)),
            ("--'\n/* ' */ ;", [.comment, .comment, .other]),
            ("a-b/c", [.word, .other, .word, .other, .word]),
            ("'open", [.text]), ("[open", [.quotedName]), ("/* open", [.comment]),
            ("\u{feff}a", [.word]),
        ] as [(String, [SQLTokens.Kind])])
    func `a text is split as SQLite does`(_ sql: String, _ expected: [SQLTokens.Kind]) {
        check(kinds(sql), equals: expected)
    }

    @Test func `every byte is in one token, up to the end or to NUL`() {
        var random = SplitMix64(seed: 7)
        let parts = [
            "'", "\"", "[", "]", "`", "-", "/", "*", "x", "1", "e", ".", " ", "\n", "\u{fc}", ";",
            "?",
        ]
        for _ in 0..<2000 {
            var sql = (0..<12).map { _ in parts.randomElement(using: &random)! }.joined()
            let ranges = sql.withUTF8 { SQLTokens($0).map(\.range) }
            check(ranges.flatMap { Array($0) }, equals: Array(0..<sql.utf8.count), "\(sql)")
            let terminated = sql.withCString { SQLTokens(cString: $0).map(\.range) }
            check(terminated, equals: ranges, "\(sql)")
        }
    }

    @Test func `quotes around a name are removed, and doubled ones are one`() {
        let words = SQLWord.all(in: "\"a\"\"b\" [c[[d] 'e''''f' `` plain")
        check(words.map(\.unquoted), equals: ["a\"b", "c[[d", "e''f", "", "plain"])
        check(words.map(\.isApart), equals: [false, true, true, true, true])
    }
}
