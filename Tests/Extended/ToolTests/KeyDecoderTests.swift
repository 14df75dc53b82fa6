import TestSupport
import Testing

@testable import SecureStorageTool

struct KeyDecoderTests {
    @Test(arguments: [
        ("a", [Key.text("a")]), ("é", [.text("é")]), ("日", [.text("日")]),
        ("\r", [.enter]), ("\u{7f}", [.backspace]), ("\u{3}", [.control("c")]),
        ("\u{1b}[A", [.up]), ("\u{1b}OB", [.down]), ("\u{1b}[1;5C", [.wordRight]),
        ("\u{1b}[5~", [.pageUp]), ("\u{1b}[6~", [.pageDown]), ("\u{1b}[H", [.home]),
        ("\u{1b}[4~", [.end]), ("\u{1b}OP", [.function(1)]), ("\u{1b}[15~", [.function(5)]),
        ("\u{1b}[21~", [.function(10)]), ("\u{1b}[[A", [.function(1)]),
        ("\u{1b}[?1;2c", [.unknown]), ("\u{1b}x", [.alt("x")]),
        ("jk\u{1b}[3~", [.text("j"), .text("k"), .delete]),
    ])
    func `keys are recognised, also when their bytes come one by one`(
        _ text: String, _ keys: [Key]
    ) {
        var reader = KeyDecoder()
        check(reader.take(text.utf8).flatMap(\.single), equals: keys)
        var read: [Key] = []
        for byte in text.utf8 { read += reader.take([byte]) }
        check(read == keys && !reader.isInside)
    }

    @Test func `an escape alone is a key when nothing follows`() {
        var reader = KeyDecoder()
        check(reader.take([0x1b]) == [] && reader.isInside)
        check(reader.finish() == [.escape] && !reader.isInside)
    }

    @Test func `bytes that are not characters are replaced`() {
        var reader = KeyDecoder()
        check(reader.take([0xff, 0x41, 0x80, 0x42]), equals: [.text("\u{fffd}A\u{fffd}B")])
    }

    @Test func `a typed line is edited at its cursor`() {
        var input = LineInput("one two")
        for key: Key in [.control("w"), .text("日"), .left, .left, .delete, .end] {
            input.take(key)
        }
        check(input.text == "one日" && input.cursor == 4)
        for key: Key in [.home, .text("x"), .right, .control("k")] { input.take(key) }
        check(input.text == "xo" && input.cursor == 2)
        input.take(.control("u"))
        check(input.text == "" && input.cursor == 0)
        input.take(.backspace)
        for scalar in ["e", "\u{301}"] { input.take(.text(String(scalar))) }
        check(input.characters == ["é"] && input.cursor == 1)
    }
}
