internal import Foundation

/// Puts the rows that can still be read into a new file.
///
/// SQLite cannot do that: a statement ends at the first damaged page, and no row below a damaged
/// inner page is found. So the pages are read without SQLite: first along the trees, then those
/// that no tree reaches any longer, whose table is identified by where rows are missing.
struct Salvage {
    let tree: TreeReader
    /// The new file.
    let target: Connection

    /// Reads everything; `progress` counts tables, and pages that no tree reaches.
    ///
    /// - Returns: The report, and the virtual tables, which are still to be created.
    func run(_ progress: (Int) throws -> Void) throws -> (SalvageReport, [SalvagedVirtualTable]) {
        var report = SalvageReport()
        if let remark = tree.header.remark { report.problems.append(remark) }
        let schema = try SalvagedSchema(tree)
        try target.text("PRAGMA encoding = '\(tree.header.encoding.name)'")
        try target.text("PRAGMA auto_vacuum = \(tree.header.autoVacuum)")
        try target.execute("BEGIN")
        let tables = try makeTables(schema, &report)
        for root in schema.tables.map(\.rootPage) + schema.indexRoots { try tree.claim(root) }
        for table in tables {
            try progress(1)
            try table.clear()
            table.gaps = try tree.walk(table.entry.rootPage, isTable: table.hasRowIDs) {
                try table.insert($0)
            }
        }
        let widths = try damagedIndexWidths(schema)
        let names = Set(tables.map(\.entry.name))
        let others = schema.tables.filter { !names.contains($0.name) }
        // Statistics for which this engine has no table are not salvaged: ANALYZE recreates them.
        for entry in others where entry.isStatistics { _ = try tree.walk(entry.rootPage) { _ in } }
        let isWhole = schema.isWhole && others.allSatisfy(\.isStatistics)
        try assignOrphans(to: tables, widths, isWhole: isWhole, &report, progress)
        report.tables = tables.filter { !$0.entry.isInternal }.map(\.outcome)
        finish(schema, &report)
        if !schema.isWhole {
            report.problems.append(
                "the schema itself was damaged: tables, indexes, views or triggers may be missing")
        }
        if report.unassignedRows > 0, !tree.knowsFreePages {
            report.problems.append(
                "the list of free pages was damaged: the rows of lost_and_found may include some that had been "
                    + "deleted")
        }
        for table in tables { table.finish() }
        // Writes a page even if there is nothing else.
        try target.text("PRAGMA user_version = \(tree.header.userVersion)")
        try target.text("PRAGMA application_id = \(tree.header.applicationID)")
        try target.execute("COMMIT")
        return (report, schema.virtualTables)
    }

    private func makeTables(
        _ schema: SalvagedSchema, _ report: inout SalvageReport
    ) throws -> [SalvagedTable] {
        var tables: [SalvagedTable] = []
        for entry in schema.tables {
            do {
                tables.append(try SalvagedTable(entry, tree.header.encoding, on: target))
            } catch let error as SecureStorageError {
                guard !entry.isStatistics else { continue }
                report.problems.append("the table \(entry.name) cannot be recreated: \(error)")
            }
        }
        return tables
    }

    /// Walks the indexes, so that their pages are not mistaken for a table's; their content is
    /// rebuilt.
    ///
    /// Returns, for each index that lost a page, the number of values in an entry, or nil if
    /// unknown.
    private func damagedIndexWidths(_ schema: SalvagedSchema) throws -> [Int?] {
        try schema.indexRoots.compactMap { root -> Int?? in
            var width: Int?
            let gaps = try tree.walk(root) { width = width ?? $0.values?.count }
            return gaps.isEmpty ? nil : .some(width)
        }
    }

    private func assignOrphans(
        to tables: [SalvagedTable], _ damagedIndexes: [Int?], isWhole: Bool,
        _ report: inout SalvageReport, _ progress: (Int) throws -> Void
    ) throws {
        var lost: LostAndFound?
        // A row of a missing table, or a deleted one (its page may be free), would be wrong in any
        // table.
        let isSure = isWhole && tree.knowsFreePages
        try tree.orphans { number, kind, rows in
            try progress(1)
            let candidates = tables.filter { $0.mayHold(rows, kind) }
            let mayBeAnIndex =
                !kind.isTable
                && damagedIndexes.contains { $0 == nil || $0 == rows.first?.values?.count }
            if mayBeAnIndex, candidates.isEmpty, isWhole { return true }
            if isSure, candidates.count == 1, !mayBeAnIndex, !tree.isUncommitted(number) {
                for row in rows { try candidates[0].insert(row) }
            } else {
                if lost == nil { lost = try LostAndFound(tree.header.encoding, on: target) }
                let saved = try lost?.insert(rows, of: number) ?? 0
                report.unassignedRows += saved
                report.unassignedRowsLost += rows.count - saved
            }
            return true
        }
    }

    /// Creates indexes, views and triggers.
    private func finish(_ schema: SalvagedSchema, _ report: inout SalvageReport) {
        // Triggers may belong to views. One without its table would prevent the file from being
        // opened, so each is executed.
        for type in ["index", "view", "trigger"] {
            for entry in schema.others where entry.type == type {
                do {
                    try target.runSchema(entry.sql)
                } catch {
                    report.problems.append(
                        "the \(type) \(entry.name) cannot be recreated: \(error)")
                }
            }
        }
    }
}
