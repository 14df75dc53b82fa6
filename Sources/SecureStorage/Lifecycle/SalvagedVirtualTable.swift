internal import Foundation

/// A virtual table of the new file, whose own tables have been saved like all others.
///
/// Damage in those costs no row of another table. A full-text index is made again from the rows
/// that it is about, an R-tree from those of its entries that are left.
struct SalvagedVirtualTable {
    let entry: SalvagedSchema.Entry
    /// The module's name in lower case.
    let module: String
    /// What the module was given, each as it is written.
    let arguments: [String]
    /// The table with the rows of a full-text index; nil when it has none.
    let contentTable: String?

    /// nil for a text that is not `CREATE VIRTUAL TABLE … USING …`.
    init?(_ entry: SalvagedSchema.Entry) {
        guard entry.type == "table", entry.rootPage == 0,
            let statement = Words(entry.sql).virtualTable
        else { return nil }
        self.entry = entry
        module = statement.module.lowercased()
        arguments = statement.arguments.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let content = arguments.lazy.compactMap { argument -> String? in
            let parts = argument.split(separator: "=", maxSplits: 1).map {
                $0.trimmingCharacters(in: .whitespacesAndNewlines)
            }
            guard parts.count == 2, parts[0].lowercased() == "content" else { return nil }
            return Words.unquoted(parts[1])
        }.first
        contentTable = content.map { $0.isEmpty ? nil : $0 } ?? "\(entry.name)_content"
    }

    var name: String { entry.name }
    var sql: String { entry.sql }

    private var isFullText: Bool { ["fts3", "fts4", "fts5"].contains(module) }
    private var isRTree: Bool { ["rtree", "rtree_i32"].contains(module) }

    /// The tables that hold nothing but what can be made again.
    private var madeAgain: [String] {
        let parts: [String]
        switch module {
        case "fts5": parts = ["data", "idx", "docsize"]
        case "fts3", "fts4": parts = ["segments", "segdir", "docsize", "stat"]
        default: parts = []
        }
        return parts.map { "\(name)_\($0)" }
    }

    private var ownTables: [String] {
        isFullText
            ? madeAgain + ["\(name)_config"] + (contentTable.map { [$0] } ?? [])
            : ["node", "parent", "rowid"].map { "\(name)_\($0)" }
    }

    private func isHurt(_ report: SalvageReport) -> Bool {
        let names = Set(ownTables.map { $0.lowercased() })
        return report.tables.contains { !$0.isWhole && names.contains($0.name.lowercased()) }
    }

    /// Makes an R-tree again that has lost pages; before it is in the schema.
    ///
    /// - Returns: Whether it is there now.
    func makeAgain(on target: Connection, _ report: inout SalvageReport) -> Bool {
        guard isRTree, isHurt(report) else { return false }
        do {
            let count = try inSavepoint(target) {
                try RTreeEntries(of: self, on: target).makeAgain()
            }
            report.problems.append(
                "the R-tree \(name) has lost pages and was made again with the \(count) entries that are left"
            )
            return true
        } catch {
            report.problems.append(
                "the R-tree \(name) has lost pages and cannot be made again: \(error)")
            return false
        }
    }

    /// Gives an index of FTS5 whose settings are lost the number of its format, without which
    /// nothing reads it, not even to make it again; before it is in the schema.
    func restoreFormat(on target: Connection) throws {
        guard module == "fts5" else { return }
        let settings = SQLText.identifier("\(name)_config")
        let names = try target.texts("SELECT lower(name) FROM main.sqlite_schema")
        guard names.contains("\(name)_config".lowercased()) else { return }
        try target.run("INSERT OR IGNORE INTO main.\(settings) VALUES ('version', 4)")
    }

    /// Checks the table, and makes an index again of which something was lost; what cannot be made
    /// again is among the problems.
    func repair(on target: Connection, _ report: inout SalvageReport) {
        guard isFullText || isRTree else { return }
        let isHurt = isFullText && isHurt(report)
        let found = check(on: target)
        // A module or a tokenizer that is not here says nothing of the table.
        guard isHurt || found?.isDamage == true else { return }
        do {
            try inSavepoint(target) {
                guard isFullText, contentTable != nil else {
                    throw found ?? .statementFailed(.corrupt, "it has lost pages")
                }
                try command("rebuild", on: target)
                if let still = check(on: target) { throw still }
            }
            try recount(on: target, &report)
            report.rebuilt.append(name)
        } catch {
            report.problems.append(
                "the virtual table \(name) (\(module)) is damaged and cannot be made again: \(error)"
            )
        }
    }

    private func inSavepoint<R>(_ target: Connection, _ body: () throws -> R) throws -> R {
        try target.execute("SAVEPOINT repair")
        do {
            let result = try body()
            try target.execute("RELEASE repair")
            return result
        } catch {
            target.uninterrupted {
                try? target.execute("ROLLBACK TO repair")
                try? target.execute("RELEASE repair")
            }
            throw error
        }
    }

    /// What is wrong with the table, by its own module; nil for nothing.
    private func check(on target: Connection) -> SecureStorageError? {
        do {
            guard isFullText else {
                let outcome = try target.text("SELECT rtreecheck('main', \(Self.literal(name)))")
                return outcome == "ok" ? nil : .statementFailed(.corrupt, outcome ?? "no answer")
            }
            try command("integrity-check", on: target)
            return nil
        } catch {
            return error as? SecureStorageError ?? .statementFailed(.error, "\(error)")
        }
    }

    private func command(_ command: String, on target: Connection) throws {
        let table = SQLText.identifier(name)
        try target.run("INSERT INTO main.\(table) (\(table)) VALUES ('\(command)')")
    }

    /// The module's tables hold something else now; of those nothing is lost.
    private func recount(on target: Connection, _ report: inout SalvageReport) throws {
        let names = Set(madeAgain.map { $0.lowercased() })
        for index in report.tables.indices
        where names.contains(report.tables[index].name.lowercased()) {
            let table = report.tables[index].name
            let count = try target.text("SELECT count(*) FROM main.\(SQLText.identifier(table))")
            report.tables[index] = SalvageReport.Table(
                name: table, rowsSaved: count.flatMap { Int($0) } ?? 0)
        }
    }

    private static func literal(_ text: String) -> String {
        "'" + text.replacingOccurrences(of: "'", with: "''") + "'"
    }
}

extension SecureStorageError {
    fileprivate var isDamage: Bool {
        guard case .backingStoreError(let code, _) = self else { return false }
        return code & 0xff == ResultCode.corrupt.rawValue
    }
}

/// The text of a statement, word by word: just enough of SQL to read `CREATE VIRTUAL TABLE`.
private struct Words {
    private let text: [Character]

    init(_ text: String) { self.text = Array(text) }

    /// The module and its arguments, each as it is written.
    var virtualTable: (module: String, arguments: [String])? {
        var position = 0
        for word in ["CREATE", "VIRTUAL", "TABLE"] {
            guard next(&position)?.uppercased() == word else { return nil }
        }
        guard var name = next(&position) else { return nil }
        if name.uppercased() == "IF" {
            _ = next(&position)
            _ = next(&position)
            name = next(&position) ?? ""
        }
        guard !name.isEmpty, next(&position)?.uppercased() == "USING",
            let module = next(&position)
        else { return nil }
        guard next(&position) == "(" else { return (Self.unquoted(module), []) }
        var arguments = [""]
        var depth = 0
        while position < text.count {
            let start = position
            guard let word = next(&position) else { break }
            switch word {
            case ")" where depth == 0: return (Self.unquoted(module), arguments)
            case "," where depth == 0: arguments.append("")
            default:
                depth += word == "(" ? 1 : word == ")" ? -1 : 0
                arguments[arguments.count - 1] += String(text[start..<position])
            }
        }
        return (Self.unquoted(module), arguments)
    }

    /// A name, a quoted text, or a single other character; blanks and comments before it are left
    /// out.
    private func next(_ position: inout Int) -> String? {
        while position < text.count, text[position].isWhitespace { position += 1 }
        guard position < text.count else { return nil }
        let start = position
        let first = text[position]
        position += 1
        if let end = ["'": "'", "\"": "\"", "`": "`", "[": "]"][first] as Character? {
            while position < text.count {
                position += 1
                guard text[position - 1] == end else { continue }
                // A doubled quote stands for itself.
                guard position < text.count, text[position] == end, end != "]" else { break }
                position += 1
            }
        } else if Self.isPartOfName(first) {
            while position < text.count, Self.isPartOfName(text[position]) { position += 1 }
        }
        return String(text[start..<position])
    }

    private static func isPartOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_" || character == "$"
            || !character.isASCII
    }

    /// A name without its quotes.
    static func unquoted(_ word: String) -> String {
        guard let first = word.first, "'\"`[".contains(first), word.count > 1 else { return word }
        let quote = String(first)
        return String(word.dropFirst().dropLast())
            .replacingOccurrences(of: quote + quote, with: quote)
    }
}
