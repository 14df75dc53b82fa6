import Foundation

/// Searches the bytes of a file for words of a text.
///
/// A word is a run of at least eight ASCII letters and hyphens, in any case. It counts as found if
/// its first eight letters occur anywhere in the bytes. In encrypted bytes that happens by chance
/// about once in a million runs of this program.
struct WordScan {
    /// The first eight letters of each word, packed, and how many words begin with them.
    private var beginnings: [UInt64: Int] = [:]
    /// The number of distinct words to search for.
    private(set) var wordCount = 0

    /// Collects every word of `text`.
    init(wordsOf text: Data) {
        var words: Set<Data> = []
        text.withUnsafeBytes { bytes in
            var start = 0
            for index in 0...bytes.count {
                if index < bytes.count, Self.folded(bytes[index]) != nil { continue }
                if index - start >= Self.length {
                    words.insert(Data(bytes[start..<index].compactMap(Self.folded)))
                }
                start = index + 1
            }
        }
        for word in words {
            beginnings[word.prefix(Self.length).reduce(0) { $0 << 8 | UInt64($1) }, default: 0] += 1
        }
        wordCount = words.count
    }

    /// Returns the number of words that occur in `data`, each counted once.
    func hits(in data: Data) -> Int {
        var found: Set<UInt64> = []
        data.withUnsafeBytes { bytes in
            // The last eight letters, and the length of the current run of letters.
            var window: UInt64 = 0
            var run = 0
            for byte in bytes {
                guard let letter = Self.folded(byte) else {
                    run = 0
                    continue
                }
                window = window << 8 | UInt64(letter)
                run += 1
                if run >= Self.length, beginnings[window] != nil { found.insert(window) }
            }
        }
        return found.reduce(0) { $0 + (beginnings[$1] ?? 0) }
    }

    /// As many letters as fit in 64 bits, and too many to match by chance.
    private static let length = 8

    /// Returns the lower-case letter or the hyphen, otherwise nil.
    private static func folded(_ byte: UInt8) -> UInt8? {
        if byte == UInt8(ascii: "-") { return byte }
        let lower = byte | 0x20
        return lower >= UInt8(ascii: "a") && lower <= UInt8(ascii: "z") ? lower : nil
    }
}
