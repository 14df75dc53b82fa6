internal import Foundation
internal import SecureStorage

/// What Tab inserts: names of the schema, keywords, functions and pragmas in SQL; commands and
/// their arguments after a dot.
struct SQLCompletion {
    private let store: SecureDatabaseStore

    init(_ store: SecureDatabaseStore) { self.store = store }

    /// Returns what may replace the word before the cursor.
    func candidates(after text: String) -> Completion {
        let line = text.suffix(while: { $0 != "\n" })
        let isFirst = ShellText.isComplete(String(text.dropLast(line.count)))
        if isFirst, line.hasPrefix(".") { return command(String(line)) }
        guard let scan = SQLScan(text) else { return Completion() }
        return sql(scan, isWholeLine: isFirst && line == scan.word)
    }

    // MARK: - SQL

    private func sql(_ scan: SQLScan, isWholeLine: Bool) -> Completion {
        if scan.previous == "PRAGMA" {
            return matching(scan.word, (names(Self.pragmas) + SQLWords.cipherPragmas).sorted())
        }
        if let owner = scan.owner {
            let table = scan.aliases[owner.lowercased()] ?? owner
            return matching(scan.word, quoted(columns(of: table)))
        }
        let tables = names(Self.tables)
        if let previous = scan.previous, SQLWords.beforeTable.contains(previous) {
            return matching(scan.word, quoted(tables))
        }
        // An empty word would list everything.
        guard !scan.word.isEmpty else { return Completion() }
        // The columns of the tables that the statement names; of all, while it names none.
        let named = tables.filter { scan.words.contains($0.lowercased()) }
        let columns = (named.isEmpty ? tables : named).flatMap { self.columns(of: $0) }
        let isLower = scan.word.first?.isLowercase ?? false
        let keywords = SQLWords.keywords.map { isLower ? $0.lowercased() : $0 }
        let commands = isWholeLine ? ShellText.words.sorted() : []
        return matching(
            scan.word,
            quoted(columns) + quoted(tables) + keywords + names(Self.functions) + commands)
    }

    private static let tables = """
        SELECT name FROM (SELECT * FROM sqlite_schema UNION ALL SELECT * FROM sqlite_temp_schema)
        WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name
        """
    private static let pragmas = "SELECT name FROM pragma_pragma_list"
    private static let functions = """
        SELECT DISTINCT name FROM pragma_function_list WHERE name GLOB '[a-z]*' ORDER BY name
        """

    private func columns(of table: String) -> [String] {
        names("SELECT name FROM pragma_table_info(?)", table)
    }

    /// Returns names, none where the schema cannot be read: that is a matter for the statement.
    private func names(_ sql: String, _ values: String...) -> [String] {
        guard let rows = try? store.executeQuery(sql, values: values) else { return [] }
        defer { rows.close() }
        var names: [String] = []
        while (try? rows.next()) == true {
            // A name that a terminal would act on is not typed.
            if let name = rows.string(forColumnIndex: 0), Visible.text(name) == name {
                names.append(name)
            }
        }
        return names
    }

    private func quoted(_ names: [String]) -> [String] {
        names.map { name in
            let isPlain =
                name.utf8.first.map { !(0x30...0x39 ~= $0) } ?? false
                && name.allSatisfy { EditedText.isInWord($0) }
                && !SQLWords.keywords.contains(name.uppercased())
            return isPlain ? name : SQLName.quoted(name)
        }
    }

    private func matching(_ word: String, _ all: [String]) -> Completion {
        var seen: Set<String> = []
        let candidates = all.filter { name in
            let plain = name.hasPrefix("\"") ? name.dropFirst() : name[...]
            return plain.lowercased().hasPrefix(word.lowercased())
                && seen.insert(name.lowercased()).inserted
        }
        return Completion(length: word.count, candidates: candidates)
    }

    // MARK: - Commands

    private func command(_ line: String) -> Completion {
        guard let blank = line.firstIndex(where: \.isWhitespace) else {
            return matching(line, ShellCommand.all.map(\.name))
        }
        guard let command = try? ShellCommand.named(String(line[..<blank])) else {
            return Completion()
        }
        let word = String(line.suffix(while: { !$0.isWhitespace }))
        let words = line.dropLast(word.count).split(whereSeparator: \.isWhitespace)
        // Options do not count.
        let index = words.dropFirst().count { !$0.hasPrefix("--") }
        guard index < command.arguments.count else { return Completion() }
        switch command.arguments[index] {
        case .none, .text: return Completion()
        case .onOff: return matching(word, ["on", "off"])
        case .format: return matching(word, OutputFormat.allCases.map(\.rawValue))
        case .table: return matching(word, names(Self.tables))
        case .file: return files(word)
        }
    }

    private func files(_ word: String) -> Completion {
        let folder = word.lastIndex(of: "/").map { String(word[...$0]) } ?? ""
        let start = String(word.dropFirst(folder.count))
        let path = folder.isEmpty ? "." : ShellSession.expanded(folder)
        let all = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        let names = all.filter { name in
            Visible.text(name) == name && name.hasPrefix(start)
                && (!name.hasPrefix(".") || start.hasPrefix("."))
        }
        var isFolder: ObjCBool = false
        let only = names.count == 1 ? names[0] : nil
        if let only {
            _ = FileManager.default.fileExists(atPath: path + "/" + only, isDirectory: &isFolder)
        }
        let slash = isFolder.boolValue ? "/" : ""
        return Completion(
            length: start.count, candidates: names.sorted().map { $0 + slash },
            ending: isFolder.boolValue ? "" : " ")
    }
}

/// What precedes the cursor in a statement that is being typed.
struct SQLScan {
    /// The word that the cursor is in or after; empty after a blank.
    private(set) var word = ""
    /// The word before it, in upper case.
    private(set) var previous: String?
    /// What precedes a dot before the word.
    private(set) var owner: String?
    /// All words of the statement, in lower case.
    private(set) var words: Set<String> = []
    /// The tables by their aliases, in lower case.
    private(set) var aliases: [String: String] = [:]

    /// nil inside a text, a comment or a name in quotes, where nothing is completed.
    init?(_ text: String) {
        var statement = Statements()
        guard (try? statement.take(text.utf8)) != nil, !statement.isInside else { return nil }
        let tokens = Self.tokens(statement.unfinished)
        var all = tokens[...]
        if let last = all.last, last.isAtEnd, last.isWord {
            word = last.text
            all.removeLast()
        }
        if all.last?.text == ".", let name = all.dropLast().last { owner = name.name }
        previous = all.last?.text.uppercased()
        words = Set(tokens.filter { !$0.isAtEnd || !$0.isWord }.map { $0.name.lowercased() })
        findAliases(tokens)
    }

    /// Finds `table alias` and `table AS alias` after the words that precede tables, and commas.
    private mutating func findAliases(_ tokens: [Token]) {
        for index in tokens.indices.dropFirst() {
            let before = tokens[index - 1].text.uppercased()
            guard before == "," || SQLWords.beforeTable.contains(before) else { continue }
            var next = index + 1
            if next < tokens.count, tokens[next].text.uppercased() == "AS" { next += 1 }
            guard next < tokens.count, tokens[next].isWord,
                !SQLWords.keywords.contains(tokens[next].text.uppercased())
            else { continue }
            aliases[tokens[next].name.lowercased()] = tokens[index].name
        }
    }

    private struct Token {
        var text: String
        /// The text without quotes.
        var name: String
        var isWord: Bool
        var isAtEnd = false
    }

    private static func tokens(_ sql: String) -> [Token] {
        SQLWord.all(in: sql).map { word in
            Token(
                text: word.text, name: word.unquoted,
                isWord: word.kind == .word || word.kind == .number,
                isAtEnd: word.end == sql.utf8.count)
        }
    }
}
