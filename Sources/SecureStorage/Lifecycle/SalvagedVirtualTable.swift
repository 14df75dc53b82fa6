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
            let statement = VirtualTableText(entry.sql).virtualTable
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

    /// What the module has made for a table with these arguments.
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

    /// The value of an option, without its quotes; nil where it is not given.
    private static func option(
        _ name: String, _ module: String, _ arguments: [String]
    ) -> String? {
        arguments.lazy.compactMap { argument -> String? in
            let parts = argument.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false
            ).map { $0.trimmingCharacters(in: .whitespacesAndNewlines) }
            guard parts.count == 2, !parts[0].isEmpty else { return nil }
            let given = parts[0].lowercased()
            // FTS5 takes the beginning of a name for the first that begins so.
            let meant = module == "fts5" ? fts5Options.first { $0.hasPrefix(given) } : given
            return meant == name ? VirtualTableText.unquoted(parts[1]) : nil
        }.first
    }

    /// In the order in which FTS5 looks for them.
    private static let fts5Options = [
        "prefix", "tokenize", "content", "contentless_delete", "contentless_unindexed",
        "content_rowid", "columnsize", "locale", "detail", "tokendata",
    ]

    /// Adds those of its own tables to the report that are missing, since the schema has lost them.
    func noteMissingTables(on target: Connection, _ report: inout SalvageReport) throws {
        // SQLite's lower() knows ASCII only.
        let names = try target.texts("SELECT name FROM main.sqlite_schema").map { $0.lowercased() }
        for table in madeByModule where !names.contains(table.lowercased()) {
            report.tables.append(SalvageReport.Table(name: table, pagesLost: 1))
        }
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

    /// Gives a full-text index what its module needs to make it again, where that is missing: its
    /// tables, empty, and the first rows of FTS5's; before it is in the schema.
    func restoreFormat(on target: Connection) throws {
        // What has no rows of its own and none elsewhere cannot be made again.
        guard isFullText, contentTable != nil else { return }
        for table in madeByModule {
            let part = String(table.dropFirst(name.count + 1))
            guard let columns = Self.columns["\(module.prefix(4))_\(part)"] else { continue }
            try target.run(
                "CREATE TABLE IF NOT EXISTS main.\(SQLText.identifier(table)) \(columns)")
        }
        guard module == "fts5" else { return }
        let settings = SQLText.identifier("\(name)_config")
        try target.run("INSERT OR IGNORE INTO main.\(settings) VALUES ('version', 4)")
        // The averages and the structure of an empty index, without which it is not made again
        // either.
        let data = SQLText.identifier("\(name)_data")
        try target.run(
            "INSERT OR IGNORE INTO main.\(data) VALUES (1, X''), (10, X'00000000000000')")
    }

    /// The columns of the tables that hold nothing but what can be made again, as their modules
    /// make them.
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
