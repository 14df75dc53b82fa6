import Foundation
import TestSupport
import Testing

@testable import SecureStorageTool

struct StatementScannerTests {
    private struct Sample: Decodable {
        let text: String
        let isComplete: Bool

        init(from decoder: any Decoder) throws {
            var pair = try decoder.unkeyedContainer()
            text = try pair.decode(String.self)
            isComplete = try pair.decode(Bool.self)
        }
    }

    private func samples() throws -> [Sample] {
        let file = try require(Bundle.module.url(forResource: "statements", withExtension: "json"))
        return try JSONDecoder().decode([Sample].self, from: Data(contentsOf: file))
    }

    @Test func `a statement ends where sqlite3_complete says`() throws {
        let samples = try samples()
        check(samples.count == 1000 && samples.count { $0.isComplete } == 400)
        for sample in samples {
            var scanner = StatementScanner()
            var hasEnded = false
            for byte in sample.text.utf8 where scanner.ends(with: byte) {
                hasEnded = true
                scanner.reset()
            }
            // A word ends at the byte after it.
            _ = scanner.ends(with: UInt8(ascii: "\n"))
            let isComplete = hasEnded && !scanner.hasStatement && !scanner.isInside
            check(isComplete, equals: sample.isComplete, "\(sample.text.debugDescription)")
        }
    }

    @Test func `a statement ends there too if the text is read as a whole`() throws {
        for sample in try samples() {
            var expected: [String] = []
            var (bytes, scanner) = ([UInt8](), StatementScanner())
            // A word ends at the byte after it.
            for byte in sample.text.utf8 + [0x0a] where !bytes.isEmpty || byte > 0x20 {
                bytes.append(byte)
                guard scanner.ends(with: byte) else { continue }
                if scanner.hasStatement { expected.append(String(decoding: bytes, as: UTF8.self)) }
                bytes = []
                scanner.reset()
            }
            var statements = Statements()
            check(
                try statements.take(Array(sample.text.utf8) + [0x0a]).map(\.sql), equals: expected,
                "\(sample.text.debugDescription)")
            check(statements.isInStatement, equals: scanner.hasStatement || scanner.isInside)
        }
    }

    @Test func `a JSON text is read back, and has nothing that a terminal would act on`() throws {
        var text = "\u{feff}日本😀\u{301}"
        for number in UInt32(0)..<0x2500 {
            text.unicodeScalars.append(try require(Unicode.Scalar(number)))
        }
        let quoted = JSONText.quoted(text)
        check(Visible.text(quoted), equals: quoted)
        let back = try JSONDecoder().decode(String.self, from: Data(quoted.utf8))
        check(Array(back.unicodeScalars), equals: Array(text.unicodeScalars))
    }

    @Test func `statements have the numbers of the lines at which they begin`() throws {
        var statements = Statements()
        var all = try statements.take("\n\nSELECT 1;\n-- a\nSELECT\n2; SELECT 3;;\n\n'4;\n".utf8)
        check(statements.isInStatement)
        all += try statements.take("'; /* ; */ ; five".utf8)
        if let last = try statements.finish() { all.append(last) }
        check(all.map(\.line), equals: [3, 4, 6, 8, 9])
        check(
            all.map(\.sql),
            equals: [
                "SELECT 1;", "-- a\nSELECT\n2;", "SELECT 3;", "'4;\n';", "five",
            ])
    }

    @Test func `widths are those of a terminal`() {
        for (text, width) in [
            ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("한글", 4), ("👩‍👩‍👧", 2), ("🇩🇪", 2),
            ("❤\u{fe0f}", 2), ("❤", 1), ("\u{200b}", 0), ("ａ", 2), ("✓", 1), ("–", 1),
        ] {
            check(DisplayWidth.of(text), equals: width, "\(text)")
        }
        check(DisplayWidth.cut("日本語", to: 5), equals: "日本…")
        check(DisplayWidth.cut("日本語", to: 6), equals: "日本語")
    }
}
