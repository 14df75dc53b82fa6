internal import Foundation

/// Puts the rows that can still be read into a new file.
///
/// SQLite cannot do that: at the first damaged page a statement ends, and behind a damaged inner page no row
/// is found. So the pages are read without it: first along the trees, then those that no tree leads to
/// any more, whose table is told by where rows are missing.
struct Salvage {
    let tree: TreeReader
    /// Of the new file.
    let target: Connection

    /// Reads everything; `progress` is told of tables, and of pages that no tree leads to.
    func run(_ progress: (Int) throws -> Void) throws -> SalvageReport {
        var report = SalvageReport()
        let schema = try SalvagedSchema(tree)
        try target.text("PRAGMA encoding = '\(tree.encoding.name)'")
        try target.execute("BEGIN")
        var tables: [SalvagedTable] = []
        for entry in schema.tables {
            do {
                tables.append(try SalvagedTable(entry, on: target))
            } catch let error as SecureStorageError {
                report.problems.append("the table \(entry.name) cannot be made again: \(error)")
            }
        }
        for table in tables {
            try progress(1)
            try table.clear()
            table.gaps = try tree.walk(table.entry.rootPage) { try table.insert($0) }
        }
        let widths = try damagedIndexWidths(schema)
        try assignOrphans(to: tables, widths, &report, progress)
        report.tables = tables.filter { !$0.entry.isInternal }.map(\.outcome)
        finish(schema, &report)
        if !schema.isWhole {
            report.problems.append(
                "the schema itself was damaged: tables, indexes, views or triggers may be missing")
        }
        if report.unassignedRows > 0 || tables.contains(where: { $0.tookOrphans }),
            !tree.knowsFreePages
        {
            report.problems.append(
                "the list of free pages was damaged: rows that had been deleted may be back")
        }
        for table in tables { table.finish() }
        // Writes a page also when there is nothing else.
        try target.text("PRAGMA user_version = \(tree.userVersion)")
        try target.text("PRAGMA application_id = \(tree.applicationID)")
        try target.execute("COMMIT")
        return report
    }

    /// Walks the indexes, so that their pages are not taken for a table's; what they hold is made anew.
    ///
    /// Gives, of each that has lost a page, the number of values in an entry; nil when that is unknown.
    private func damagedIndexWidths(_ schema: SalvagedSchema) throws -> [Int?] {
        try schema.indexRoots.compactMap { root -> Int?? in
            var width: Int?
            let gaps = try tree.walk(root) { width = width ?? $0.values?.count }
            return gaps.isEmpty ? nil : .some(width)
        }
    }

    private func assignOrphans(
        to tables: [SalvagedTable], _ damagedIndexes: [Int?], _ report: inout SalvageReport,
        _ progress: (Int) throws -> Void
    ) throws {
        var lost: LostAndFound?
        try tree.orphans { number, page in
            try progress(1)
            let rows = try tree.rows(of: page)
            guard !rows.isEmpty else { return }
            let candidates = tables.filter { $0.mayHold(rows, page.header.kind) }
            let mayBeAnIndex =
                !page.header.kind.isTable
                && damagedIndexes.contains { $0 == nil || $0 == rows.first?.values?.count }
            if mayBeAnIndex, candidates.isEmpty { return }
            if candidates.count == 1, !mayBeAnIndex {
                candidates[0].tookOrphans = true
                for row in rows { try candidates[0].insert(row) }
            } else {
                if lost == nil { lost = try LostAndFound(on: target) }
                report.unassignedRows += try lost?.insert(rows, of: number) ?? 0
            }
        }
    }

    /// Indexes, and then what has no pages of its own.
    private func finish(_ schema: SalvagedSchema, _ report: inout SalvageReport) {
        // Triggers may be those of views. One without its table would keep the file from being opened, so each
        // is run; virtual tables are not, since the tables below them are there.
        for type in ["index", "view", "trigger"] {
            for entry in schema.others where entry.type == type {
                do {
                    try target.runSchema(entry.sql)
                } catch {
                    report.problems.append(
                        "the \(type) \(entry.name) cannot be made again: \(error)")
                }
            }
        }
        do {
            var taken = Set(try target.texts("SELECT lower(name) FROM main.sqlite_schema"))
            try target.writeSchemaRows { insert in
                for entry in schema.others
                where entry.type == "table" && taken.insert(entry.name.lowercased()).inserted {
                    try insert.bind([entry.type, entry.name, entry.table, entry.sql])
                    try insert.run()
                    insert.rewind()
                }
            }
        } catch {
            report.problems.append("virtual tables are missing: \(error)")
        }
    }
}

extension RecordReader.TextEncoding {
    var name: String {
        switch self {
        case .utf8: "UTF-8"
        case .utf16LittleEndian: "UTF-16le"
        case .utf16BigEndian: "UTF-16be"
        }
    }
}
