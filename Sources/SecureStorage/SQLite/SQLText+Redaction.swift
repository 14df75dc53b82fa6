internal import Foundation
internal import SecureStoragePlatform

/// Removes values from the engine's messages.
///
/// Most of SQLite's messages name only the schema; some quote their input, as in
/// `no such column: …` for the column of a full-text query, or in `unable to open database: …`.
extension SQLText {
    /// Returns `message` with every word replaced that may come from a value.
    ///
    /// - Parameters:
    ///   - message: SQLite's message.
    ///   - sql: The statement; its own words may stay, since the error shows the statement anyway.
    ///   - expanded: The statement with its values filled in. A blob appears there as `x'…'`, and
    ///     is searched for as text too, in each encoding that a database can have: wherever SQLite
    ///     expects a text, it accepts a blob's bytes as one.
    /// - Returns: The message, with `…` for each run of such words.
    static func redact(_ message: String, sql: String, expanded: String) -> String {
        let known = Set(words(of: folded(sql.utf8)).map(Array.init) + [Array("null".utf8)])
        let values = [folded(expanded.utf8)] + blobTexts(in: expanded).map { folded($0.utf8) }
        var result: [UInt8] = []
        var rest = Array(message.utf8)[...]
        while let start = rest.firstIndex(where: SQLTokens.isInWord) {
            result += rest[..<start]
            let word = rest[start...].prefix(while: SQLTokens.isInWord)
            let isHidden = comesFromValue(folded(word), values, known)
            result += isHidden ? Array("…".utf8) : Array(word)
            rest = rest[word.endIndex...]
        }
        // The characters between two words of a value belong to the value as well.
        return String(decoding: result + rest, as: UTF8.self).replacingOccurrences(
            of: #"…([^\w\s"'\[\]…]*…)+"#, with: "…", options: .regularExpression)
    }

    /// Returns whether one of `values` has this word, a longer one that contains it (as after
    /// `substr`), or a part of it (as after `||`).
    ///
    /// The parts must not be too short, since every other word would have them.
    private static func comesFromValue(
        _ word: [UInt8], _ values: [[UInt8]], _ known: Set<[UInt8]>
    ) -> Bool {
        guard !known.contains(word) else { return false }
        return values.contains { value in
            words(of: value).contains { found in
                if found.elementsEqual(word) { return true }
                let (long, short) =
                    found.count > word.count ? (found, word[...]) : (word[...], found)
                guard short.count >= (found.count > word.count ? 6 : 4), contains(long, short)
                else { return false }
                return !known.contains(Array(found))
            }
        }
    }

    private static func contains(_ long: ArraySlice<UInt8>, _ short: ArraySlice<UInt8>) -> Bool {
        guard let first = short.first, long.count > short.count else { return false }
        return (long.startIndex...(long.endIndex - short.count)).contains {
            long[$0] == first && long[$0...].starts(with: short)
        }
    }

    /// Converts ASCII letters to lower case, since SQL functions change case.
    private static func folded(_ text: some Sequence<UInt8>) -> [UInt8] {
        text.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    }

    private static func words(of text: [UInt8]) -> [ArraySlice<UInt8>] {
        text.split { !SQLTokens.isInWord($0) }
    }

    /// Returns the texts as which the blobs in `expanded` can be read.
    private static func blobTexts(in expanded: String) -> [String] {
        let bytes = Array(expanded.utf8)
        var texts: [String] = []
        var position = 0
        while let quote = bytes[position...].firstIndex(of: UInt8(ascii: "'")) {
            position = quote + 1
            guard quote > 0, bytes[quote - 1] | 0x20 == UInt8(ascii: "x") else { continue }
            let digits = bytes[position...].prefix { Hex.value($0) != nil }
            guard !digits.isEmpty else { continue }
            position = digits.endIndex
            let values = digits.compactMap(Hex.value)
            let blob = stride(from: 0, to: values.count - 1, by: 2)
                .map { values[$0] << 4 | values[$0 + 1] }
            let units = stride(from: 0, to: blob.count - 1, by: 2)
                .map { UInt16(blob[$0]) << 8 | UInt16(blob[$0 + 1]) }
            texts.append(String(decoding: blob, as: UTF8.self))
            texts.append(String(decoding: units, as: UTF16.self))
            texts.append(String(decoding: units.map(\.byteSwapped), as: UTF16.self))
        }
        return texts
    }
}
