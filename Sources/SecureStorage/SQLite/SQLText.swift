internal import Foundation

/// Functions that examine SQL as text.
enum SQLText {
    /// Whether `sql` may spell out a key, as `PRAGMA key`, `PRAGMA rekey` and `ATTACH … KEY` do.
    ///
    /// Neither it nor SQLite's message about it may be shown then. Errs on the safe side.
    static func holdsKey(_ sql: String) -> Bool {
        guard sql.range(of: "key", options: .caseInsensitive) != nil else { return false }
        // Whole words only: a table of attachments with a primary key does not count.
        return sql.range(
            of: #"\b(pragma\b[\s\S]*key|attach\b[\s\S]*\bkey)\b"#,
            options: [.regularExpression, .caseInsensitive]) != nil
    }

    /// Returns `sql` as a message may show it: of limited length, and without the literal after a
    /// word such as KEY, which a misspelt PRAGMA or ATTACH may contain.
    static func forMessage(_ sql: String) -> String {
        let limit = 500
        return redacted(sql.utf8.count > limit ? String(sql.prefix(limit)) + "…" : sql)
    }

    /// Returns `sql` without the literal after a word such as KEY.
    static func redacted(_ sql: String) -> String {
        sql.replacingOccurrences(
            of: #"(key\w*\s*[=(]?\s*)(x?'[^']*'?|"[^"]*"?)"#, with: "$1…",
            options: [.regularExpression, .caseInsensitive])
    }

    /// Returns `sql` up to its first semicolon outside quotes and comments.
    ///
    /// Returns all of it when it may spell out a key, since the key might not be recognised in a
    /// part.
    static func firstStatement(of sql: String) -> String {
        guard !holdsKey(sql) else { return sql }
        let end = SQLWord.all(in: sql).first { $0.text == ";" }?.end
        return end.map { String(decoding: sql.utf8.prefix($0), as: UTF8.self) } ?? sql
    }

    /// Returns `message` with everything in quotes or brackets replaced.
    static func withoutQuotations(_ message: String) -> String {
        message.replacingOccurrences(
            of: #"'[\s\S]*'|"[\s\S]*"|\[[\s\S]*\]"#, with: "…", options: .regularExpression)
    }

    /// Whether the first statement of `sql` is a PRAGMA, or an EXPLAIN of one, which acts as well.
    static func isPragma(_ sql: String) -> Bool {
        SQLWord.first(4, of: sql).first { !["EXPLAIN", "QUERY", "PLAN"].contains($0.keyword) }?
            .keyword == "PRAGMA"
    }

    /// Whether `text`, up to its NUL, holds only blanks, byte-order marks, semicolons and comments.
    ///
    /// Parsed here instead of prepared: some pragmas act while they are prepared.
    static func holdsNoStatement(_ text: UnsafePointer<CChar>) -> Bool {
        SQLTokens(cString: text).allSatisfy { $0.isIgnored || $0.isByte(";") }
    }

    /// Returns `name` as a quoted identifier: safe for any text but NUL, which no identifier can
    /// hold.
    static func identifier(_ name: String) -> String {
        guard name.utf8.contains(UInt8(ascii: "\"")) else { return "\"" + name + "\"" }
        return quoted(name, in: "\"")
    }

    /// Returns `text` between quotation marks, which are doubled in it.
    ///
    /// By scalars, as the engine reads: to Swift and Foundation, a mark with a combining mark after
    /// it is another character.
    static func quoted(_ text: String, in mark: Unicode.Scalar) -> String {
        var quoted = String.UnicodeScalarView([mark])
        for scalar in text.unicodeScalars {
            quoted.append(scalar)
            if scalar == mark { quoted.append(mark) }
        }
        quoted.append(mark)
        return String(quoted)
    }

    /// Returns an INSERT with a placeholder for each of `columns`, which must be spelled as SQL, as
    /// `table` must be.
    static func insert(into table: String, _ columns: [String]) -> String {
        guard !columns.isEmpty else { return "INSERT INTO \(table) DEFAULT VALUES" }
        return """
            INSERT INTO \(table) (\(columns.joined(separator: ", ")))
            VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))
            """
    }

    /// Returns the name of a table of the file itself, not of a temporary or attached one.
    static func main(_ table: String) -> String { "main.\(identifier(table))" }
}

extension SQLText {
    /// The file that an ATTACH attaches, as its text names it.
    struct AttachedFile: Equatable {
        /// The path; nil when it is bound, or an expression.
        let path: String?
    }

    /// Returns the file that `sql` attaches; nil when `sql` is not an ATTACH.
    static func attachedFile(in sql: String) -> AttachedFile? {
        var words = SQLWord.first(4, of: sql)[...]
        guard words.popFirst()?.keyword == "ATTACH" else { return nil }
        if words.first?.keyword == "DATABASE" { words.removeFirst() }
        // Only a single literal: part of an expression might not be a path.
        guard let file = words.popFirst(), words.first?.keyword == "AS",
            file.kind == .text || file.text.hasPrefix("\"")
        else { return AttachedFile(path: nil) }
        return AttachedFile(path: file.unquoted)
    }

    /// Returns whether a statement, or one of its names or texts, mentions REPLACE.
    static func mayReplace(_ sql: String) -> Bool {
        sql.range(of: "replace", options: .caseInsensitive) != nil
    }
}
