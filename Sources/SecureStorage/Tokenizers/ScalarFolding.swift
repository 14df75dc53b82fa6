internal import Foundation

/// What a scalar is to `CJKTokenizer`, and the scalar that stands for it in tokens.
struct FoldedScalar {
    enum Kind {
        case separator
        /// Part of a word.
        case letter
        /// Han, Kana or Hangul.
        case character
        /// A mark that belongs to the letter or character before it, and makes it another one.
        case mark
        /// A mark that makes no difference.
        case droppedMark
    }

    let kind: Kind
    let value: UInt32

    static let separator = FoldedScalar(kind: .separator, value: 0)
}

/// The folding of scalars, with a table for those of most alphabets.
///
/// The properties of Unicode come from Swift's standard library.
final class ScalarFolding: Sendable {
    static let withoutDiacritics = ScalarFolding(dropsDiacritics: true)
    static let withDiacritics = ScalarFolding(dropsDiacritics: false)

    private let dropsDiacritics: Bool
    private let table: [FoldedScalar]

    private init(dropsDiacritics: Bool) {
        self.dropsDiacritics = dropsDiacritics
        // Up to the Kana, and the symbols after them.
        table = (0..<0x3400).map { Self.examine($0, dropsDiacritics) }
    }

    @inline(__always)
    func fold(_ scalar: UInt32) -> FoldedScalar {
        if scalar < 0x3400 { return table[Int(scalar)] }
        // The bulk of Han and Hangul, which have no other forms.
        if scalar < 0xa000 || (0xac00...0xd7a3).contains(scalar) {
            let isSymbol = (0x4dc0...0x4dff).contains(scalar)  // hexagrams
            return isSymbol ? .separator : FoldedScalar(kind: .character, value: scalar)
        }
        return Self.examine(scalar, dropsDiacritics)
    }

    private static func examine(_ value: UInt32, _ dropsDiacritics: Bool) -> FoldedScalar {
        guard let scalar = Unicode.Scalar(value) else { return .separator }
        // Full-width forms of ASCII.
        if (0xff01...0xff5e).contains(value) {
            return examine(value - 0xfee0, dropsDiacritics)
        }
        if isCharacter(scalar) {
            // Compatibility ideographs have the meaning of others.
            let canonical = String(scalar).decomposedStringWithCanonicalMapping.unicodeScalars
            let isOther = value >= 0xf900 && canonical.count == 1
            return FoldedScalar(
                kind: .character, value: isOther ? canonical.first?.value ?? value : value)
        }
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
            .decimalNumber, .letterNumber, .otherNumber, .privateUse:
            return FoldedScalar(kind: .letter, value: letter(scalar, dropsDiacritics))
        case .nonspacingMark, .spacingMark, .enclosingMark:
            let isDropped = dropsDiacritics ? isDiacritic(value) : isVariationSelector(value)
            return FoldedScalar(kind: isDropped ? .droppedMark : .mark, value: value)
        default: return .separator
        }
    }

    private static func letter(_ scalar: Unicode.Scalar, _ dropsDiacritics: Bool) -> UInt32 {
        var folded = scalar.properties.lowercaseMapping.unicodeScalars.map(\.value)
        if dropsDiacritics {
            folded = String(String.UnicodeScalarView(folded.compactMap { Unicode.Scalar($0) }))
                .decomposedStringWithCanonicalMapping.unicodeScalars.map(\.value)
                .filter { !isDiacritic($0) }
        }
        let lower = scalar.properties.lowercaseMapping.unicodeScalars
        let value = folded.count == 1 ? folded[0] : lower.count == 1 ? lower.first?.value : nil
        // The sigma at the end of a word.
        return value == 0x3c2 ? 0x3c3 : value ?? scalar.value
    }

    /// Whether a scalar is of Han, Hiragana, Katakana or Hangul.
    private static func isCharacter(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x1100...0x11ff, 0xa960...0xa97c, 0xd7b0...0xd7fb,  // Jamo
            0x3005...0x3007, 0x303b,
            0x3041...0x3096, 0x309d...0x309f, 0x30a1...0x30fa, 0x30fc...0x30ff,
            0x3131...0x318e, 0x31f0...0x31ff, 0xac00...0xd7a3,
            0xff66...0xff9f, 0xffa0...0xffdc, 0x1aff0...0x1b16f:
            true
        default:
            scalar.properties.isIdeographic && scalar.properties.generalCategory == .otherLetter
        }
    }

    /// Whether a mark makes no difference to the letter before it, in the alphabets where that is
    /// usual; the marks of other scripts are vowels and the like.
    private static func isDiacritic(_ value: UInt32) -> Bool {
        switch value {
        case 0x300...0x36f, 0x483...0x487, 0x591...0x5bd, 0x5bf, 0x5c1...0x5c2, 0x5c4...0x5c5,
            0x5c7,
            0x610...0x61a, 0x64b...0x65f, 0x670, 0x6d6...0x6dc, 0x1ab0...0x1aff, 0x1dc0...0x1dff,
            0x20d0...0x20ff, 0xfe20...0xfe2f:
            true
        default: isVariationSelector(value)
        }
    }

    private static func isVariationSelector(_ value: UInt32) -> Bool {
        (0xfe00...0xfe0f).contains(value) || (0xe0100...0xe01ef).contains(value)
    }
}

/// Characters that are written as several scalars.
enum Composition {
    /// Returns the one scalar for a character and what follows it; nil if there is none.
    static func join(_ first: UInt32, _ second: UInt32) -> UInt32? {
        switch second {
        case 0x3099, 0x309a: return voiced[first]?[second == 0x3099 ? 0 : 1]
        // Hangul: https://www.unicode.org/versions/latest/core-spec/chapter-3/#G24646
        case 0x1161...0x1175 where (0x1100...0x1112).contains(first):
            return 0xac00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        case 0x11a8...0x11c2 where (0xac00...0xd7a3).contains(first) && (first - 0xac00) % 28 == 0:
            return first + second - 0x11a7
        default: return nil
        }
    }

    /// The Kana with a sound mark, and with a half-voiced one.
    private static let voiced: [UInt32: [UInt32?]] = {
        var voiced: [UInt32: [UInt32?]] = [:]
        for value in 0x3041...0x30ff as ClosedRange<UInt32> {
            let composed = ["\u{3099}", "\u{309a}"].map { mark -> UInt32? in
                guard let scalar = Unicode.Scalar(value) else { return nil }
                let text = (String(scalar) + mark).precomposedStringWithCanonicalMapping
                let scalars = text.unicodeScalars
                return scalars.count == 1 ? scalars.first?.value : nil
            }
            if composed.contains(where: { $0 != nil }) { voiced[value] = composed }
        }
        return voiced
    }()
}
