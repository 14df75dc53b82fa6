package import Foundation
internal import TestSupport

/// What no store may see: a word of a database, and its key.
package enum Canary {
    package static let words = [Data("canarybirds".utf8), TemporaryDatabase.key]

    /// Whether bytes contain one of them: plain, in hexadecimal digits, or in base64.
    package static func isIn(_ bytes: Data) -> Bool {
        words.flatMap(forms).contains { bytes.range(of: $0) != nil }
    }

    private static func forms(_ word: Data) -> [Data] {
        let digits = hex(word)
        // In base64 it begins at one of three places; only whole groups of it are looked for.
        let encoded = (0..<3).map { offset in
            let whole = word.dropFirst(offset)
            return Data(whole.prefix(whole.count / 3 * 3).base64EncodedString().utf8)
        }
        return [word, Data(digits.utf8), Data(digits.uppercased().utf8)] + encoded
    }

    package static func hex(_ bytes: Data) -> String {
        bytes.map { String(format: "%02x", $0) }.joined()
    }
}
