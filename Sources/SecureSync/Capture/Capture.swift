package import SecureStorage

/// Captures every program's writes to the synced tables of a file, through triggers in the file.
///
/// A value: all state is in the database. No function begins or ends a transaction, unless
/// documented.
package struct Capture: Sendable {
    package let tables: SyncedTables
    /// Converts a time of this machine's clock, as noted by triggers, to the member's.
    ///
    /// Both are in milliseconds since 1970, and equal except in tests.
    package let clock: @Sendable (Int64) -> Int64
    /// How many new clocks of a table are kept apart; see ``ClockTable``.
    ///
    /// With more, each transaction changes more of their pages; with fewer, the large table's pages
    /// change more often.
    package var recentClockLimit = 8192

    /// How far another member's clock may be ahead of this one's: a month, in milliseconds.
    ///
    /// Changes further ahead wait. Many devices have a clock that is wrong by an hour or a day, and
    /// must still be able to sync.
    package var mostAhead: UInt64 = 31 * 86_400_000

    package init(_ tables: SyncedTables, clock: @escaping @Sendable (Int64) -> Int64) {
        self.tables = tables
        self.clock = clock
    }

    /// Captures with this machine's clock.
    ///
    /// - Parameters:
    ///   - tables: The synced tables.
    ///   - clockOffset: Milliseconds added to the clock; tests only.
    package init(_ tables: SyncedTables, clockOffset: Int64 = 0) {
        self.init(tables) { time in
            let (sum, isOver) = time.addingReportingOverflow(clockOffset)
            return isOver ? .max : sum
        }
    }

    /// Brings the bookkeeping tables and the triggers up to date with the declaration and the
    /// schema.
    ///
    /// To be called in a write transaction, after a migration and before rows change. Does nothing
    /// if everything is up to date. A table that is no longer declared loses its triggers and keeps
    /// its clocks.
    ///
    /// - Throws: `SyncError.unsuitableTable`; `SyncError.newerFormat`.
    package func install(in db: SecureDatabaseStore) throws {
        for store in tables.declarations.compactMap(\.keyValueStore) {
            try KeyValueTable.prepare(store, in: db)
        }
        let readings = try readings(in: db)
        try Bookkeeping.create(in: db)
        try UnsentRows.create(in: db)
        try MergeTables.create(in: db)
        try requireKnownFormat(in: db)
        for (declaration, reading) in readings {
            try requireNamedRows(of: reading)
            try requireSyncedReferrers(of: reading, among: readings, in: db)
            let columns = try groups(of: reading, declaration).joined()
            try Bookkeeping.columnGroup(
                reading.name, keyCount: reading.key.count, columns: columns.map { $0 },
                formerly: try former(of: reading, declaration), in: db)
        }
        try SyncedTables.keep(readings.map { ($1.name, $0) }, in: db)
        let isReadOnly = try SyncedTables.isReadOnly(in: db)
        var needed: [(name: String, sql: String)] = []
        for (declaration, reading) in readings {
            let shape = try shape(of: reading, declaration, among: readings, in: db)
            try Bookkeeping.createTables(of: shape, in: db)
            needed +=
                CaptureTriggers(
                    shape: shape, reading: reading, isReadOnly: isReadOnly
                ).texts
        }
        let present = try Self.triggers(in: db)
        for (name, sql) in present
        where !needed.contains(where: { $0.name == name && $0.sql == sql }) {
            try db.executeUpdate("DROP TRIGGER main.\(name.sqlName)")
        }
        for (name, sql) in needed where present[name] != sql { try db.executeUpdate(sql) }
        try db.executeUpdate("INSERT OR IGNORE INTO main.securestorage_sync_due (id) VALUES (1)")
    }

    /// Checks that the triggers match those that ``install(in:)`` would create now.
    ///
    /// - Throws: `SyncError.captureWasOff` with the first table whose triggers differ;
    ///   `SyncError.unsuitableTable`.
    package func verify(in db: SecureDatabaseStore) throws {
        let present = try Self.triggers(in: db)
        let isReadOnly = try SyncedTables.isReadOnly(in: db)
        let readings = try readings(in: db)
        for (declaration, reading) in readings {
            let shape = try installedShape(of: reading, declaration, among: readings, in: db)
            let triggers = CaptureTriggers(
                shape: shape, reading: reading, isReadOnly: isReadOnly)
            for (name, sql) in triggers.texts where present[name] != sql {
                throw SyncError.captureWasOff(reading.name)
            }
        }
    }

    /// The tables in their current form, in the order of the declaration.
    ///
    /// - Throws: `SyncError.unsuitableTable`; `SyncError.captureWasOff` for a table without
    ///   ``install(in:)``, or with a column added since.
    package func shapes(in db: SecureDatabaseStore) throws -> [TableShape] {
        let readings = try readings(in: db)
        return try readings.map { try installedShape(of: $1, $0, among: readings, in: db) }
    }

    // MARK: - Reading the schema

    private typealias Reading = (declaration: SyncedTables.Table, reading: TableReading)

    private func readings(in db: SecureDatabaseStore) throws -> [Reading] {
        let readings = try tables.declarations.map { ($0, try TableReading($0, in: db)) }
        for (declaration, reading) in readings {
            for key in reading.foreignKeys
            where !readings.contains(where: { $0.1.name.isSameName(as: key.parent) }) {
                throw SyncError.unsuitableTable(
                    declaration.table,
                    "it refers to \"\(key.parent)\", which is not synced; sync it too")
            }
        }
        return readings
    }

    private func installedShape(
        of reading: TableReading, _ declaration: SyncedTables.Table,
        among readings: [Reading], in db: SecureDatabaseStore
    ) throws -> TableShape {
        guard try isInstalled(in: db), try Bookkeeping.number(of: reading.name, in: db) != nil
        else { throw SyncError.captureWasOff(reading.name) }
        let shape = try shape(of: reading, declaration, among: readings, in: db)
        guard shape.columnNumbers.count == shape.groups.joined().count else {
            throw SyncError.captureWasOff(reading.name)
        }
        return shape
    }

    private func shape(
        of reading: TableReading, _ declaration: SyncedTables.Table,
        among readings: [Reading], in db: SecureDatabaseStore
    ) throws -> TableShape {
        let number = try Bookkeeping.number(of: reading.name, in: db) ?? 0
        let numbers = try Bookkeeping.columnNumbers(ofTable: number, in: db)
        let groups = try groups(of: reading, declaration)
        var columnNumbers: [String: Int64] = [:]
        for column in groups.joined() { columnNumbers[column] = numbers[column.sqlNameKey] }
        return TableShape(
            name: reading.name, table: reading.table, number: number,
            key: reading.key.map { reading.columns[$0].name },
            groups: groups, uniques: reading.uniques,
            foreignKeys: reading.foreignKeys.map { key in
                var key = key
                guard
                    let parent = readings.first(where: {
                        $0.reading.name.isSameName(as: key.parent)
                    })
                else { return key }
                key.parent = parent.reading.name
                if key.parentColumns.contains("") {
                    key.parentColumns = parent.reading.key.map { parent.reading.columns[$0].name }
                }
                return key
            },
            mayRefuseRows: reading.mayRefuseRows, columnNumbers: columnNumbers,
            formerly: try former(of: reading, declaration))
    }

    /// The present names of columns, by the keys of their former names.
    private func former(
        of reading: TableReading, _ declaration: SyncedTables.Table
    ) throws -> [String: String] {
        guard !declaration.formerly.isEmpty else { return [:] }
        let alone = try groups(of: reading, declaration).filter { $0.count == 1 }.joined()
        var former: [String: String] = [:]
        for (old, new) in declaration.formerly {
            // In a column group with others, older versions would send their value of it with each
            // edit of those.
            guard let column = alone.first(where: { $0.isSameName(as: new) }) else {
                throw SyncError.unsuitableTable(
                    declaration.table,
                    "the column \"\(new)\", declared as formerly \"\(old)\", is none beside its key that "
                        + "wins or loses alone")
            }
            guard !reading.columns.contains(where: { $0.name.isSameName(as: old) }) else {
                throw SyncError.unsuitableTable(
                    declaration.table,
                    "it still has the column \"\(old)\", which is declared as a former name of "
                        + "\"\(new)\"")
            }
            former[old.sqlNameKey] = column
        }
        return former
    }

    /// The sent columns except the key's, as grouped by the declaration.
    private func groups(
        of reading: TableReading, _ declaration: SyncedTables.Table
    ) throws -> [[String]] {
        let columns = reading.columns.indices.filter {
            !reading.key.contains($0) && !reading.columns[$0].isGenerated
        }.map { reading.columns[$0].name }
        if declaration.merging == .row { return columns.isEmpty ? [] : [columns] }
        var groups: [[String]] = []
        var grouped: Set<String> = []
        for set in declaration.together {
            let names = Set(set.map(\.sqlNameKey))
            let members = columns.filter { names.contains($0.sqlNameKey) }
            guard members.count == names.count else {
                throw SyncError.unsuitableTable(
                    declaration.table,
                    "the columns \(set.joined(separator: ", ")), declared together, are not all columns of the table "
                        + "beside its key")
            }
            guard grouped.isDisjoint(with: names) else {
                throw SyncError.unsuitableTable(
                    declaration.table, "a column is declared together with two sets of others")
            }
            grouped.formUnion(names)
            groups.append(members)
        }
        groups += columns.filter { !grouped.contains($0.sqlNameKey) }.map { [$0] }
        let ranks = Dictionary(uniqueKeysWithValues: zip(columns, columns.indices))
        return groups.filter { !$0.isEmpty }.sorted { (ranks[$0[0]] ?? 0) < (ranks[$1[0]] ?? 0) }
    }

    /// Rows with NULL in the key could not be sent, and nobody would notice.
    private func requireNamedRows(of reading: TableReading) throws {
        guard let column = reading.nullableKey.first else { return }
        throw SyncError.unsuitableTable(
            reading.name,
            "the column \"\(column)\" of its key may be NULL, as SQLite allows it, and such a row has no name; "
                + "declare it NOT NULL")
    }

    /// Rows of an unsynced table would block a deletion by others, or be deleted with the row, even
    /// with one that is only lifted.
    private func requireSyncedReferrers(
        of reading: TableReading, among readings: [Reading], in db: SecureDatabaseStore
    ) throws {
        let referrers = try db.allRows(
            """
            SELECT DISTINCT t.name FROM main.sqlite_schema AS t,
                pragma_foreign_key_list(t.name, 'main') AS k
            WHERE t.type = 'table' AND k."table" = ? COLLATE NOCASE
            """, [.text(reading.name)], columns: 1)
        for case .text(let name)? in referrers.map(\.first)
        where !readings.contains(where: { $0.reading.name.isSameName(as: name) }) {
            throw SyncError.unsuitableTable(
                reading.name,
                "the table \"\(name)\", which is not synced, refers to it; sync that too, or declare it "
                    + "without the foreign key")
        }
    }

    private func isInstalled(in db: SecureDatabaseStore) throws -> Bool {
        try db.int(
            forQuery:
                "SELECT count(*) FROM main.sqlite_schema WHERE name = 'securestorage_sync_state'")
            == 1
    }

    private func requireKnownFormat(in db: SecureDatabaseStore) throws {
        let format = try db.int64(forQuery: "SELECT format FROM main.securestorage_sync_state") ?? 0
        guard format <= Bookkeeping.format else {
            throw SyncError.newerFormat("securestorage_sync_state")
        }
    }

    /// The library's triggers in the file: text by name.
    static func triggers(in db: SecureDatabaseStore) throws -> [String: String] {
        var triggers: [String: String] = [:]
        try db.rows(
            "SELECT name, sql FROM main.sqlite_schema WHERE type = 'trigger' AND name GLOB 'securestorage_sync_[0-9]*'"
        ) { triggers[try $0.text(at: 0)] = try $0.text(at: 1) }
        return triggers
    }
}
