import Testing
import TestSupport

@testable import SecureStorage

/// What single scalars are to the tokenizer, at the ends of Unicode's blocks.
struct ScalarFoldingTests {
    private func kind(_ value: UInt32, keeping: Bool = false) -> FoldedScalar.Kind {
        (keeping ? ScalarFolding.withDiacritics : .withoutDiacritics).fold(value).kind
    }

    @Test func `the marks of Latin, Greek, Cyrillic, Hebrew and Arabic are dropped, or kept`() {
        for value: UInt32 in [
            0x300, 0x36f, 0x483, 0x487, 0x591, 0x5bd, 0x5bf, 0x5c1, 0x5c2, 0x5c4, 0x5c5, 0x5c7,
            0x610, 0x61a, 0x64b, 0x65f, 0x670, 0x6d6, 0x6dc, 0x1ab0, 0x1dc0, 0x1dff, 0x20d0,
            0x20f0, 0xfe20, 0xfe2f,
        ] {
            check(kind(value), equals: .droppedMark, "\(value)")
            check(kind(value, keeping: true), equals: .mark, "\(value)")
        }
        // Those of Devanagari are vowels, for example.
        for value: UInt32 in [0x488, 0x6df, 0x93e, 0x94d] {
            check(kind(value), equals: .mark, "\(value)")
        }
        // They say how a character looks, and are dropped in any case.
        for value: UInt32 in [0xfe00, 0xfe0f, 0xe0100, 0xe01ef] {
            check(kind(value, keeping: true), equals: .droppedMark, "\(value)")
        }
    }

    @Test func `Han, Kana, Hangul and Jamo are characters, up to the ends of their blocks`() {
        for value: UInt32 in [
            0x1100, 0x11ff, 0xa960, 0xa97c, 0xd7b0, 0xd7fb, 0x3005, 0x3007, 0x303b, 0x3041, 0x3096,
            0x309d, 0x309f, 0x30a1, 0x30fa, 0x30fc, 0x30ff, 0x3131, 0x318e, 0x31f0, 0x31ff, 0x3400,
            0x4dbf, 0x4e00, 0x9fff, 0xac00, 0xd7a3, 0xf900, 0xfad9, 0xff66, 0xff9f, 0xffa0, 0xffdc,
            0x1b000, 0x20000, 0x2fa1d,
        ] {
            check(kind(value), equals: .character, "\(value)")
        }
        for value: UInt32 in [0x3004, 0x3030, 0x30a0, 0x30fb, 0x4dc0, 0x4dff, 0xff65, 0x20] {
            check(kind(value), equals: .separator, "\(value)")
        }
        for value: UInt32 in [0x41, 0x7a, 0x5d0, 0xff21, 0xff5a, 0xf8ff] {
            check(kind(value), equals: .letter, "\(value)")
        }
    }

    @Test func `a form of a letter or a character stands for it`() {
        for (value, other) in [
            (0x41, 0x61), (0xc4, 0x61), (0xff21, 0x61), (0xff5a, 0x7a), (0x3c2, 0x3c3),
            (0x3a3, 0x3c3), (0xf900, 0x8c48), (0xfad9, 0x9f8e), (0x2fa1d, 0x2a600),
        ] as [(UInt32, UInt32)] {
            check(ScalarFolding.withoutDiacritics.fold(value).value, equals: other, "\(value)")
        }
        check(ScalarFolding.withDiacritics.fold(0xc4).value, equals: 0xe4)
    }
}
