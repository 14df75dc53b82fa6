internal import Foundation

/// A table of the new file, which receives the rows of the damaged one as they are found.
final class SalvagedTable {
    let entry: SalvagedSchema.Entry
    private let target: Connection
    private let content: ContentTable
    private let encoding: TextEncoding
    /// The columns of a record in stored order; nil for a computed one.
    private let stored: [String?]
    /// The column that is an alias of the row id; its value is not in the record.
    private let rowIDColumn: String?
    /// The ranges in which the tree has lost pages.
    var gaps: [TreeReader.Gap] = [] {
        didSet { outcome.pagesLost = gaps.count }
    }
    private(set) var outcome: SalvageReport.Table
    /// One INSERT for each number of values: rows older than a column do not have it.
    private var inserts: [Int: Statement] = [:]

    /// Whether its rows have ids.
    var hasRowIDs: Bool { content.hasRowIDs }

    /// Creates the empty table in the new file.
    init(
        _ entry: SalvagedSchema.Entry, _ encoding: TextEncoding, on target: Connection
    ) throws {
        self.entry = entry
        self.encoding = encoding
        self.target = target
        outcome = SalvageReport.Table(name: entry.name)
        if !entry.isInternal {
            try target.runSchema(entry.sql)
        } else if entry.name.hasPrefix("sqlite_stat") {
            try target.run("ANALYZE main.sqlite_schema")
        }
        content = try ContentTable(name: entry.name, sql: entry.sql, on: target)
        let columns = try Self.columns(of: entry.name, on: target)
        let keyOrder = try Self.keyOrder(of: entry.name, on: target)
        // A key with a separate index, such as INTEGER PRIMARY KEY DESC, is not an alias of the row
        // id.
        let isRowID = keyOrder.isEmpty && columns.filter(\.isKey).count == 1
        rowIDColumn = isRowID ? columns.first(where: \.isRowID)?.name : nil
        if content.hasRowIDs {
            stored = columns.filter { !$0.isVirtual }.map { $0.isComputed ? nil : $0.name }
        } else {
            let computed = Set(columns.filter(\.isComputed).map(\.name))
            stored = keyOrder.map { computed.contains($0) ? nil : $0 }
        }
    }

    private struct ColumnInfo {
        let name: String
        let isKey: Bool
        let isRowID: Bool
        let isComputed: Bool
        let isVirtual: Bool
    }

    private static func columns(of table: String, on target: Connection) throws -> [ColumnInfo] {
        let info = try Statement(
            "SELECT name, upper(type), pk, hidden FROM pragma_table_xinfo(?, 'main')", on: target,
            persistent: false)
        defer { info.giveBack() }
        try info.bind([table])
        var columns: [ColumnInfo] = []
        while try info.step() {
            let isKey = info.column(2).integer > 0
            columns.append(
                ColumnInfo(
                    name: info.column(0).text ?? "", isKey: isKey,
                    isRowID: isKey && info.column(1).text == "INTEGER",
                    isComputed: info.column(3).integer >= 2, isVirtual: info.column(3).integer == 2)
            )
        }
        return columns
    }

    /// Returns the columns of a table without row ids as it stores them: the primary key, then the
    /// others.
    private static func keyOrder(of table: String, on target: Connection) throws -> [String] {
        let names = try Statement(
            """
            SELECT x.name FROM pragma_index_list(?1, 'main') AS i, pragma_index_xinfo(i.name, 'main') AS x
            WHERE i.origin = 'pk' ORDER BY x.seqno
            """, on: target, persistent: false)
        defer { names.giveBack() }
        try names.bind([table])
        var order: [String] = []
        while try names.step() { order.append(names.column(0).text ?? "") }
        return order
    }

    /// Removes the rows that other tables' rows have added to one of SQLite's own tables.
    func clear() throws {
        guard entry.isInternal else { return }
        try target.run("DELETE FROM \(SQLText.main(entry.name))")
    }

    /// Whether rows of a page that no tree reaches can be this table's.
    func mayHold(_ rows: [TreeReader.Row], _ kind: BTreePage.Kind) -> Bool {
        guard kind.isTable == content.hasRowIDs, !gaps.isEmpty else { return false }
        let fits = rows.allSatisfy { row in
            row.values.map { $0.count <= stored.count } ?? true
        }
        let rowIDs = rows.compactMap(\.rowID)
        return fits && (!content.hasRowIDs || gaps.contains { $0.holds(rowIDs) })
    }

    func insert(_ row: TreeReader.Row) throws {
        // A row with more values than the table has columns belongs to another table.
        guard let values = row.values, (1...max(stored.count, 1)).contains(values.count) else {
            outcome.rowsLost += 1
            return
        }
        do {
            let statement = try insertStatement(values.count)
            defer { statement.rewind() }
            let rowID = row.rowID.map { StoredValue.integer($0) } ?? .null
            var bound = content.rowID == nil ? [] : [rowID]
            for (column, value) in zip(stored, values) {
                guard let column else { continue }
                let isRowID = column == rowIDColumn && value == .null
                bound.append(isRowID ? rowID : value)
            }
            try statement.bind(stored: bound, encoding)
            try statement.run()
            outcome.rowsSaved += 1
            if !row.isCommitted { outcome.rowsUncertain += 1 }
        } catch SecureStorageError.backingStoreError(let code, _)
            where [19, 20].contains(code)
        {
            // A constraint: two rows with one key, or a value of the wrong type.
            outcome.rowsLost += 1
        }
    }

    private func insertStatement(_ count: Int) throws -> Statement {
        if let statement = inserts[count] { return statement }
        let names =
            (content.rowID.map { [$0] } ?? [])
            + stored.prefix(count).compactMap { $0.map { SQLText.identifier($0) } }
        let statement = try Statement(
            SQLText.insert(into: SQLText.main(entry.name), names), on: target, persistent: true)
        inserts[count] = statement
        return statement
    }

    /// Ends the statements before the new file is closed.
    func finish() {
        for statement in inserts.values { statement.giveBack() }
        inserts = [:]
    }
}

/// The table for rows whose own table is unknown.
final class LostAndFound {
    private let target: Connection
    private let name: String
    private let encoding: TextEncoding
    private var columnCount = 0

    init(_ encoding: TextEncoding, on target: Connection) throws {
        self.encoding = encoding
        self.target = target
        // The app may have a table of that name.
        let taken = Set(try target.texts("SELECT lower(name) FROM main.sqlite_schema"))
        let names = ["lost_and_found"] + (2...).lazy.prefix(1000).map { "lost_and_found_\($0)" }
        name = names.first { !taken.contains($0) } ?? names[0]
        try target.run("CREATE TABLE \(name) (page INTEGER, id INTEGER, values_found INTEGER)")
    }

    /// Returns the number of rows inserted.
    func insert(_ rows: [TreeReader.Row], of page: UInt32) throws -> Int {
        var count = 0
        for row in rows {
            guard let values = row.values, !values.isEmpty else { continue }
            while columnCount < min(values.count, 1000) {
                try target.run("ALTER TABLE \(name) ADD COLUMN c\(columnCount)")
                columnCount += 1
            }
            let kept = values.prefix(columnCount)
            let names = ["page", "id", "values_found"] + kept.indices.map { "c\($0)" }
            let insert = try target.statement(for: SQLText.insert(into: SQLText.main(name), names))
            defer { insert.giveBack() }
            try insert.bind(
                stored: [
                    .integer(Int64(page)), row.rowID.map { .integer($0) } ?? .null,
                    .integer(Int64(values.count)),
                ] + kept, encoding)
            try insert.run()
            count += 1
        }
        return count
    }
}
