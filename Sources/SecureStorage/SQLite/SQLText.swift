internal import Foundation

/// What the library needs to know of SQL as text.
enum SQLText {
    /// Whether `sql` may spell out a key, as `PRAGMA key`, `PRAGMA rekey` and `ATTACH … KEY` do:
    /// neither it nor SQLite's message on it may be shown then.
    ///
    /// Errs on the safe side.
    static func holdsKey(_ sql: String) -> Bool {
        guard sql.range(of: "key", options: .caseInsensitive) != nil else { return false }
        // As words: a table of attachments with a primary key is none.
        return sql.range(
            of: #"\b(pragma\b[\s\S]*key|attach\b[\s\S]*\bkey)\b"#,
            options: [.regularExpression, .caseInsensitive]) != nil
    }

    /// `sql` as a message may show it: not endless, and without the literal behind a word such as
    /// KEY, which a misspelt PRAGMA or ATTACH leaves standing.
    static func forMessage(_ sql: String) -> String {
        let limit = 500
        let short = sql.utf8.count > limit ? String(sql.prefix(limit)) + "…" : sql
        return short.replacingOccurrences(
            of: #"(key\w*\s*[=(]?\s*)(x?'[^']*'?|"[^"]*"?)"#, with: "$1…",
            options: [.regularExpression, .caseInsensitive])
    }

    /// `sql` up to its first semicolon outside of quotes and comments; all of it when it may spell
    /// out a key, so that nobody shows a part that no longer tells.
    static func firstStatement(of sql: String) -> String {
        guard !holdsKey(sql) else { return sql }
        let bytes = Array(sql.utf8)
        var position = 0
        func skip(past end: String) {
            let end = Array(end.utf8)
            while position < bytes.count, !bytes[position...].starts(with: end) { position += 1 }
            position += end.count
        }
        while position < bytes.count {
            let rest = bytes[position...]
            position += 1
            switch rest.first.map({ Unicode.Scalar($0) }) {
            case ";": return String(decoding: bytes[..<position], as: UTF8.self)
            case "'": skip(past: "'")
            case "\"": skip(past: "\"")
            case "`": skip(past: "`")
            case "[": skip(past: "]")
            case "-" where rest.starts(with: "--".utf8): skip(past: "\n")
            case "/" where rest.starts(with: "/*".utf8): skip(past: "*/")
            default: break
            }
        }
        return sql
    }

    /// `message` with everything in quotes or brackets replaced.
    static func withoutQuotations(_ message: String) -> String {
        message.replacingOccurrences(
            of: #"'[\s\S]*'|"[\s\S]*"|\[[\s\S]*\]"#, with: "…", options: .regularExpression)
    }

    /// Whether `text`, up to its NUL, is nothing but blanks, byte-order marks, semicolons and
    /// comments.
    ///
    /// Read here and not by preparing it: some pragmas act while they are prepared.
    static func holdsNoStatement(_ text: UnsafePointer<CChar>) -> Bool {
        func byte(_ character: Unicode.Scalar) -> CChar { CChar(character.value) }
        var text = text
        while text[0] != 0 {
            switch text[0] {
            case byte(" "), byte(";"), 0x09...0x0d:
                text += 1
            // A byte-order mark, which is a blank to SQLite.
            case CChar(bitPattern: 0xef)
            where text[1] == CChar(bitPattern: 0xbb) && text[2] == CChar(bitPattern: 0xbf):
                text += 3
            case byte("-") where text[1] == byte("-"):
                while text[0] != 0, text[0] != byte("\n") { text += 1 }
            case byte("/") where text[1] == byte("*"):
                text += 2
                while text[0] != 0, text[0] != byte("*") || text[1] != byte("/") { text += 1 }
                // An unclosed comment reaches to the end, as in SQLite.
                if text[0] != 0 { text += 2 }
            default:
                return false
            }
        }
        return true
    }

    /// `name` as a quoted identifier: safe for any text but NUL, which no identifier can hold.
    static func identifier(_ name: String) -> String {
        let doubled =
            name.utf8.contains(UInt8(ascii: "\""))
            ? name.replacingOccurrences(of: "\"", with: "\"\"") : name
        return "\"" + doubled + "\""
    }

    /// An INSERT with a placeholder for each of `columns`, which are spelled as SQL wants them.
    static func insert(into table: String, _ columns: [String]) -> String {
        """
        INSERT INTO main.\(identifier(table)) (\(columns.joined(separator: ", ")))
        VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
        """
    }
}

extension SQLText {
    /// What an ATTACH attaches, as its text has it.
    struct AttachedFile: Equatable {
        /// nil when it is bound, or an expression.
        let path: String?
    }

    /// nil when `sql` is no ATTACH.
    static func attachedFile(in sql: String) -> AttachedFile? {
        let blank = #"(?:\s|--[^\n]*\n|/\*[\s\S]*?\*/)"#
        let options: NSString.CompareOptions = [.regularExpression, .caseInsensitive]
        guard
            let start = sql.range(
                of: "^(?:\(blank)|;)*attach\\b(?:\(blank)*database\\b)?\(blank)*", options: options)
        else { return nil }
        let rest = sql[start.upperBound...]
        // Nothing but a single literal: of an expression, a part might be something else than a
        // path.
        guard
            let literal = rest.range(
                of: #"^('(?:[^']|'')*'|"(?:[^"]|"")*")(?=\s+as\b)"#, options: options),
            let quote = rest.first
        else { return AttachedFile(path: nil) }
        let quoted = rest[literal].dropFirst().dropLast()
        return AttachedFile(
            path: quoted.replacingOccurrences(of: "\(quote)\(quote)", with: "\(quote)"))
    }

    /// Whether a statement, or one of its names or texts, speaks of REPLACE.
    static func mayReplace(_ sql: String) -> Bool {
        sql.range(of: "replace", options: .caseInsensitive) != nil
    }
}
