/// The words of a statement outside quotation marks and comments, in capitals.
struct SQLWords {
    private let words: Set<String>

    init(_ sql: String) {
        var words: Set<String> = []
        var word: [UInt8] = []
        var bytes = Array(sql.utf8)[...]
        func end() {
            if !word.isEmpty { words.insert(String(decoding: word, as: UTF8.self).uppercased()) }
            word = []
        }
        func skip(past mark: String) {
            let mark = Array(mark.utf8)
            while !bytes.isEmpty, !bytes.starts(with: mark) { bytes.removeFirst() }
            bytes = bytes.dropFirst(mark.count)
        }
        while let byte = bytes.popFirst() {
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`"):
                end()
                skip(past: String(UnicodeScalar(byte)))
            case UInt8(ascii: "["):
                end()
                skip(past: "]")
            case UInt8(ascii: "-") where bytes.first == byte:
                end()
                skip(past: "\n")
            case UInt8(ascii: "/") where bytes.first == UInt8(ascii: "*"):
                end()
                bytes.removeFirst()
                skip(past: "*/")
            case 65...90, 97...122, 48...57, UInt8(ascii: "_"), 0x80...: word.append(byte)
            default: end()
            }
        }
        end()
        self.words = words
    }

    func contains(_ word: String) -> Bool { words.contains(word) }
}
