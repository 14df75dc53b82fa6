internal import Foundation

/// A virtual table of the new file, whose own tables have been salvaged like all others.
///
/// Damage in those costs other tables no rows. A full-text index is rebuilt from the rows that it
/// indexes; an R-tree stays as it is, with the nodes that are left in its tables.
struct SalvagedVirtualTable {
    let entry: SalvagedSchema.Entry
    /// The module's name in lower case.
    let module: String
    /// The module's arguments, each as it is written.
    let arguments: [String]
    /// The table with the rows of a full-text index; nil if it has none.
    let contentTable: String?

    /// Returns nil for a text that is not `CREATE VIRTUAL TABLE … USING …`.
    init?(_ entry: SalvagedSchema.Entry) {
        guard entry.type == "table", entry.rootPage == 0,
            let statement = VirtualTableText(entry.sql)
        else { return nil }
        self.entry = entry
        module = statement.module.lowercased()
        arguments = statement.arguments.map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
        let content = Self.option("content", module, arguments)
        contentTable = content.map { $0.isEmpty ? nil : $0 } ?? "\(entry.name)_content"
    }

    var name: String { entry.name }
    var sql: String { entry.sql }

    private var isFullText: Bool { ["fts3", "fts4", "fts5"].contains(module) }
    private var isRTree: Bool { ["rtree", "rtree_i32"].contains(module) }

    /// The tables that hold only what can be rebuilt.
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
            ? madeAgain + ["\(name)_config"] + (contentTable.map { [$0] } ?? []) : madeByModule
    }

    /// The tables that the module created for these arguments.
    private var madeByModule: [String] {
        func has(_ name: String, _ value: String) -> Bool {
            Self.option(name, module, arguments)?.lowercased() == value
        }
        var parts: [String]
        switch module {
        case "fts5":
            parts = ["data", "idx", "config"] + (has("columnsize", "0") ? [] : ["docsize"])
        case "fts4":
            parts = ["segments", "segdir", "stat"] + (has("matchinfo", "fts3") ? [] : ["docsize"])
        case "fts3": parts = ["segments", "segdir"]
        case "rtree", "rtree_i32": parts = ["node", "parent", "rowid"]
        default: parts = []
        }
        if contentTable == "\(name)_content", isFullText { parts.append("content") }
        return parts.map { "\(name)_\($0)" }
    }

    /// Returns the value of an option without its quotes, or nil if it is not given.
    private static func option(
        _ name: String, _ module: String, _ arguments: [String]
    ) -> String? {
        arguments.lazy.compactMap { argument -> String? in
            let parts = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            guard parts.count == 2, !parts[0].isEmpty else { return nil }
            let given = parts[0].lowercased()
            // FTS5 resolves an abbreviated name to the first option that begins with it.
            let meant = module == "fts5" ? fts5Options.first { $0.hasPrefix(given) } : given
            guard meant == name else { return nil }
            return SQLWord.first(1, of: parts[1]).first?.unquoted ?? ""
        }.first
    }

    /// In the order in which FTS5 searches them.
    private static let fts5Options = [
        "prefix", "tokenize", "content", "contentless_delete", "contentless_unindexed",
        "content_rowid", "columnsize", "locale", "detail", "tokendata",
    ]

    /// Adds to the report those of the module's tables that the damaged schema has lost.
    func noteMissingTables(on target: Connection, _ report: inout SalvageReport) throws {
        // SQLite's lower() handles only ASCII.
        let names = try target.texts("SELECT name FROM main.sqlite_schema").map { $0.lowercased() }
        for table in madeByModule where !names.contains(table.lowercased()) {
            report.tables.append(SalvageReport.Table(name: table, pagesLost: 1))
        }
    }

    private func isHurt(_ report: SalvageReport) -> Bool {
        let names = Set(ownTables.map { $0.lowercased() })
        return report.tables.contains { !$0.isWhole && names.contains($0.name.lowercased()) }
    }

    /// Creates what a full-text module needs to rebuild its index, where that is missing.
    ///
    /// These are its tables, empty, and the first rows of FTS5's. Called before the table is in the
    /// schema.
    func restoreFormat(on target: Connection) throws {
        // An index whose rows are stored nowhere cannot be rebuilt.
        guard isFullText, contentTable != nil else { return }
        for table in madeByModule {
            let part = String(table.dropFirst(name.count + 1))
            guard let columns = Self.columns["\(module.prefix(4))_\(part)"] else { continue }
            try target.run(
                "CREATE TABLE IF NOT EXISTS \(SQLText.main(table)) \(columns)")
        }
        guard module == "fts5" else { return }
        let settings = SQLText.identifier("\(name)_config")
        try target.run("INSERT OR IGNORE INTO main.\(settings) VALUES ('version', 4)")
        // The averages and the structure of an empty index, which rebuilding requires.
        let data = SQLText.identifier("\(name)_data")
        try target.run(
            "INSERT OR IGNORE INTO main.\(data) VALUES (1, X''), (10, X'00000000000000')")
    }

    /// The columns of the tables that hold only what can be rebuilt, as their modules create them.
    private static let columns = [
        "fts5_data": "(id INTEGER PRIMARY KEY, block BLOB)",
        "fts5_idx": "(segid, term, pgno, PRIMARY KEY(segid, term)) WITHOUT ROWID",
        "fts5_docsize": "(id INTEGER PRIMARY KEY, sz BLOB)",
        "fts5_config": "(k PRIMARY KEY, v) WITHOUT ROWID",
    ].merging(
        ["fts3", "fts4"].flatMap { module in
            [
                ("\(module)_segments", "(blockid INTEGER PRIMARY KEY, block BLOB)"),
                (
                    "\(module)_segdir",
                    "(level INTEGER, idx INTEGER, start_block INTEGER, leaves_end_block INTEGER, "
                        + "end_block INTEGER, root BLOB, PRIMARY KEY(level, idx))"
                ),
                ("\(module)_docsize", "(docid INTEGER PRIMARY KEY, size BLOB)"),
                ("\(module)_stat", "(id INTEGER PRIMARY KEY, value BLOB)"),
            ]
        }, uniquingKeysWith: { first, _ in first })

    /// Checks the table and rebuilds an index that lost something; reports one that cannot be
    /// rebuilt.
    func repair(on target: Connection, _ report: inout SalvageReport) {
        guard isFullText || isRTree else { return }
        let isHurt = isHurt(report)
        let found = check(on: target)
        // An unavailable module or tokenizer says nothing about the table.
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
                "the virtual table \(name) (\(module)) is damaged and cannot be recreated: \(error)"
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

    /// Returns the problem that the table's own module finds, or nil if there is none.
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

    /// Counts the rows of the module's tables again, which were rebuilt without loss.
    private func recount(on target: Connection, _ report: inout SalvageReport) throws {
        let names = Set(madeAgain.map { $0.lowercased() })
        for index in report.tables.indices
        where names.contains(report.tables[index].name.lowercased()) {
            let table = report.tables[index].name
            let count = try target.text("SELECT count(*) FROM \(SQLText.main(table))")
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
