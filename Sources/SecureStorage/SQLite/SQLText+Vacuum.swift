internal import CSQLCipher

extension SQLText {
    /// Refuses a VACUUM INTO that is the first statement of `text`, up to its NUL.
    ///
    /// SQLite creates its file with the mode 0644, unchecked and under its final name, and
    /// SQLCipher (4.6.1) with the default page size, HMAC and header, so that nothing opens it
    /// where the configuration differs. The authorizer sees it as an ATTACH, while it runs.
    ///
    /// - Throws: `.backingStoreError` code `.notAuthorized`.
    static func refuseVacuumInto(_ text: UnsafePointer<CChar>) throws {
        guard isVacuumInto(text) else { return }
        throw SecureStorageError.statementFailed(
            .notAuthorized,
            "VACUUM INTO is refused: others could read its file, and it may be one that nothing opens; use "
                + "vacuum(into:) or backup(to:)")
    }

    static func isVacuumInto(_ text: UnsafePointer<CChar>) -> Bool {
        let start = beginning(text, skippingSemicolons: true)
        guard begins(start, "vacuum") else { return false }
        var rest = beginning(start + 6)
        if begins(rest, "into") { return true }
        rest = beginning(behindName(rest))
        return begins(rest, "into")
    }

    /// Returns whether `text` begins with `word` as a whole word, in any case.
    private static func begins(_ text: UnsafePointer<CChar>, _ word: String) -> Bool {
        let length = word.utf8.count
        return sqlite3_strnicmp(text, word, Int32(length)) == 0 && !isInName(text[length])
    }

    /// Returns the text after the name of a schema, quoted or not.
    private static func behindName(_ text: UnsafePointer<CChar>) -> UnsafePointer<CChar> {
        var text = text
        let first = UInt8(bitPattern: text[0])
        switch Unicode.Scalar(first) {
        case "\"", "'", "`", "[":
            let end = first == UInt8(ascii: "[") ? UInt8(ascii: "]") : first
            repeat {
                text += 1
                while text[0] != 0, UInt8(bitPattern: text[0]) != end { text += 1 }
                if text[0] != 0 { text += 1 }
                // A doubled quote is part of the name.
            } while UInt8(bitPattern: text[0]) == end && first == end
        default:
            while isInName(text[0]) { text += 1 }
        }
        return text
    }

    private static func isInName(_ character: CChar) -> Bool {
        switch UInt8(bitPattern: character) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "$"), 0x80...:
            true
        default: false
        }
    }

    /// Returns the first byte that SQLite does not treat as a blank, comment or byte-order mark.
    ///
    /// A byte is read only if the one before it is not the NUL.
    private static func beginning(
        _ text: UnsafePointer<CChar>, skippingSemicolons: Bool = false
    ) -> UnsafePointer<CChar> {
        func isMark(_ text: UnsafePointer<CChar>, _ first: UInt8, _ second: UInt8) -> Bool {
            UInt8(bitPattern: text[0]) == first && UInt8(bitPattern: text[1]) == second
        }
        let (dash, slash, star) = (UInt8(ascii: "-"), UInt8(ascii: "/"), UInt8(ascii: "*"))
        var text = text
        while true {
            switch UInt8(bitPattern: text[0]) {
            case UInt8(ascii: " "), 0x09...0x0d: text += 1
            case UInt8(ascii: ";") where skippingSemicolons: text += 1
            case 0xef where isMark(text, 0xef, 0xbb) && UInt8(bitPattern: text[2]) == 0xbf:
                text += 3
            case dash where isMark(text, dash, dash):
                while text[0] != 0, text[0] != 0x0a { text += 1 }
            case slash where isMark(text, slash, star):
                text += 2
                while text[0] != 0, !isMark(text, star, slash) { text += 1 }
                if text[0] != 0 { text += 2 }
            default: return text
            }
        }
    }
}
