import Foundation
import TestSupport
import Testing

@testable import SecureStorageTool

struct LineEditorTests {
    /// A text whose cursor is at the `|`.
    private func text(_ shown: String) -> EditedText {
        let parts = shown.components(separatedBy: "|")
        var text = EditedText(parts.joined())
        for _ in parts[1] { text.moveBackward() }
        return text
    }

    private func shown(_ text: EditedText) -> String { text.before + "|" + text.after }

    typealias Change = @Sendable (inout EditedText) -> Void

    static let changes: [(String, String, Change)] = [
        (
            "SELECT a| FROM t", "SELECT| FROM t",
            {
                $0.cutTerminalWord(); $0.deleteBackward()
            }
        ),
        ("x = 'a b'|;", "x = 'a |;", { $0.cutTerminalWord() }),
        ("main.note|", "main.|", { $0.cutWordBackward() }),
        ("|main.note", "|.note", { $0.cutWordForward() }),
        ("a\nbc|d\ne", "a\n|d\ne", { $0.cutToLineStart() }),
        ("a\n|d\ne", "a|d\ne", { $0.cutToLineStart() }),
        ("a\nbc|d\ne", "a\nbc|\ne", { $0.cutToLineEnd() }),
        ("a\nbc|\ne", "a\nbc|e", { $0.cutToLineEnd() }),
        ("a\nbc|d\ne", "a\n|bcd\ne", { $0.moveToLineStart() }),
        ("a\n|bcd\ne", "a\nbcd|\ne", { $0.moveToLineEnd() }),
        ("one two|", "one |two", { $0.moveWordBackward() }),
        ("|one two", "one| two", { $0.moveWordForward() }),
        ("abc\nd|", "a|bc\nd", { _ = $0.moveUp() }),
        ("a\nbc|d", "a|\nbcd", { _ = $0.moveUp() }),
        ("abc|\nd", "abc\nd|", { _ = $0.moveDown() }),
        ("e\u{301}|x", "|x", { $0.deleteBackward() }),
        ("|👩‍👩‍👧x", "👩‍👩‍👧|x", { $0.moveForward() }),
        (
            "ab c|", "ab cab c|",
            {
                $0.cutToLineStart(); $0.paste(); $0.paste()
            }
        ),
        (
            "|", "|",
            {
                $0.deleteBackward(); $0.deleteForward(); $0.cutToLineStart()
            }
        ),
    ]

    @Test(arguments: changes)
    func `keys change the text around the cursor`(
        _ before: String, _ after: String, _ change: Change
    ) {
        var text = text(before)
        change(&text)
        check(shown(text), equals: after)
    }

    @Test func `the first and the last line have none above and below`() {
        var first = text("ab|c\nd")
        check(!first.moveUp() && shown(first) == "ab|c\nd")
        var last = text("abc\n|d")
        check(!last.moveDown() && shown(last) == "abc\n|d")
    }

    @Test(
        arguments: [
            ("a", [.text("a")]), ("é", [.text("é")]), ("ab\r", [.text("ab"), .enter]),
            ("\u{1b}[A", [.up]), ("\u{1b}OB", [.down]), ("\u{1b}[1;5C", [.wordRight]),
            ("\u{1b}[3~", [.delete]), ("\u{1b}OH\u{1b}[4~", [.home, .end]),
            ("\u{1b}b\u{7f}", [.alt("b"), .backspace]),
            ("\u{1}\u{12}", [.control("a"), .control("r")]),
            ("\u{1b}[200~a\tb\r\nc\u{1b}[201~\t", [.pasted("a\tb\nc"), .tab]),
            ("\u{1b}[99;99xa", [.unknown, .text("a")]), ("\u{0}", [.control("`")]),
        ] as [(String, [Key])])
    func `keys are recognised, whole or byte by byte`(_ bytes: String, _ keys: [Key]) {
        var whole = KeyDecoder()
        check(whole.take(bytes.utf8), equals: keys)
        var slow = KeyDecoder()
        var found: [Key] = []
        for byte in bytes.utf8 {
            for key in slow.take([byte]) {
                if case .text(let more) = key, case .text(let text) = found.last {
                    found[found.count - 1] = .text(text + more)
                } else {
                    found.append(key)
                }
            }
        }
        check(found, equals: keys)
    }

    @Test func `the rows of a text are those of the terminal, and the cursor is in them`() {
        func layout(_ shown: String, _ width: Int) -> EditorScreen.Layout {
            EditorScreen.Layout("> ", text(shown), continuation: ". ", width: width)
        }
        check(layout("ab|\ncd", 10).rows, equals: ["> ab", ". cd"])
        check(layout("ab\nc|d", 10).row == 1 && layout("ab\nc|d", 10).column == 3)
        check(layout("abcdef|", 4).rows, equals: ["> ab", "cdef", ""])
        check(layout("abcdef|", 4).row == 2 && layout("abcdef|", 4).column == 0)
        // A wide character is not split.
        check(layout("日本語|", 5).rows, equals: ["> 日", "本語"])
        check(layout("\u{1b}|", 10).rows, equals: [#"> \x1b"#])
        var long = layout("1\n2\n3\n4\n5|", 10)
        long.clip(to: 2)
        check(long.rows == [". 4", ". 5"] && long.row == 1)
    }

    @Test func `earlier entries come back in order, and then what was being typed`() {
        var recall = Recall()
        for entry in ["one", "two", "two", "Three"] { recall.remember(entry) }
        check(recall.previous("dra"), equals: "Three")
        check(recall.previous("Three") == "two" && recall.previous("two") == "one")
        check(recall.previous("one") == nil)
        check(recall.next() == "two" && recall.next() == "Three" && recall.next() == "dra")
        check(recall.next() == nil)
        check(recall.find("t", before: .max) == 2 && recall.find("T", before: 2) == 1)
        check(recall.find("", before: .max) == nil && recall.find("x", before: .max) == nil)
    }

    @Test(
        arguments: [
            ("", true), ("SELECT 1;", true), ("SELECT 1", false), ("SELECT ';", false),
            (".mode box", true), ("help", true), (" Quit ;", true), ("help me", false),
            ("SELECT 1\n.mode box", false), ("SELECT 1;\n.mode box\nSELECT 2;\n", true),
            ("/* a", false), ("-- a", true), ("SELECT\nquit", false),
        ])
    func `a text is complete when all of its statements are`(_ text: String, _ isComplete: Bool) {
        check(ShellText.isComplete(text), equals: isComplete)
    }

    @Test func `words with blanks are in quotes`() throws {
        try check(
            ShellWords.split(#"a  "b c" 'd"e' "" f"g h""#),
            equals: ["a", "b c", "d\"e", "", "fg h"])
        #expect(throws: (any Error).self) { try ShellWords.split("a 'b") }
    }
}
