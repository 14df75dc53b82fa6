import SecureStorage

/// The rows of a ``Settlement``, loaded from the file as needed: by key, by unique value, by
/// reference, and by the row that blocks them.
final class SettlementRows {
    typealias Row = Settlement.Row
    typealias RowID = Settlement.RowID

    let tables: [MergedTable]
    let heldBack: HeldBackRows
    /// The numbers of tables with held-back rows in the file.
    let heldBackTables: Set<Int64>

    private var rows: [RowID: Row] = [:]
    private var index: [PlaceValue: Set<RowID>] = [:]
    private var blocked: [RowID: Set<RowID>] = [:]
    private var sought: Set<PlaceValue> = []
    private var soughtHeldBack: Set<PlaceValue> = []

    private struct PlaceValue: Hashable {
        var table: Int
        /// An index into the table's uniques, followed by its references.
        var place: Int
        var bytes: [UInt8]
    }

    init(_ tables: [MergedTable], in db: SecureDatabaseStore) throws {
        self.tables = tables
        heldBack = HeldBackRows(db: db)
        heldBackTables = try heldBack.tables()
    }

    var all: some Collection<Row> { rows.values }

    subscript(id: RowID) -> Row? { rows[id] }

    func holds(_ table: MergedTable, _ key: [SQLiteValue]) -> Bool {
        !rows.isEmpty && rows[RowID(table: table.index, key: RowKey(key))] != nil
    }

    /// Returns a row as in the file, or as set since.
    func row(_ table: MergedTable, _ key: [SQLiteValue]) throws -> Row {
        let id = RowID(table: table.index, key: RowKey(key))
        if let row = rows[id] { return row }
        let row = Row(id: id, key: key)
        row.clock = try table.clocks.clock(of: key)
        row.shown = try table.row(of: key)
        if let shown = row.shown {
            row.values = shown
            (row.isSound, row.isWinner, row.isVisible) = (true, true, true)
        }
        if heldBackTables.contains(table.shape.number),
            let entry = try heldBack.entry(table.shape.number, id.key)
        {
            let defaults = try table.defaults()
            let values = table.columns.indices.map { position in
                position < table.keyCount
                    ? key[position]
                    : entry.value(of: table.columns[position], table.shape) ?? defaults[position]
            }
            row.heldBackValues = values
            row.heldBackStanding = entry.standing
            row.heldBackBlocker = entry.blocker
            if row.shown == nil, row.clock?.isAlive ?? true {
                row.values = values
                row.isRefused = entry.standing == .refused
                row.isSound = entry.standing >= .duplicate
                row.isWinner = entry.standing >= .waiting
                row.blocker = entry.blocker.map { RowID(table: table.index, key: $0) }
            }
        }
        rows[id] = row
        register(row)
        return row
    }

    private func row(_ table: MergedTable, _ key: RowKey) throws -> Row? {
        if let row = rows[RowID(table: table.index, key: key)] { return row }
        guard let values = key.values(), values.count == table.keyCount else { return nil }
        return try row(table, values)
    }

    /// Changes a row's values.
    func change(_ row: Row, to values: [SQLiteValue]?) {
        leave(row)
        row.values = values
        register(row)
    }

    func setBlocker(_ blocker: RowID?, of row: Row) {
        if let old = row.blocker { blocked[old]?.remove(row.id) }
        row.blocker = blocker
        if let blocker { blocked[blocker, default: []].insert(row.id) }
    }

    /// The rows that another one blocks.
    func blocked(by row: Row) throws -> [Row] {
        let table = tables[row.id.table]
        if heldBackTables.contains(table.shape.number) {
            for key in try heldBack.keys(of: table.shape.number, blockedBy: row.id.key) {
                _ = try self.row(table, key)
            }
        }
        return (blocked[row.id] ?? []).compactMap { rows[$0] }
    }

    /// Makes values be looked up in the file again: rows may have been written since.
    func forgetSought() {
        sought = []
        soughtHeldBack = []
    }

    private func places(of row: Row) -> [PlaceValue] {
        guard let values = row.values else { return [] }
        let table = tables[row.id.table]
        return (table.uniques + table.references.map(\.place)).enumerated().compactMap {
            place in
            place.element.bytes(of: values).map {
                PlaceValue(table: table.index, place: place.offset, bytes: $0)
            }
        }
    }

    private func register(_ row: Row) {
        for place in places(of: row) { index[place, default: []].insert(row.id) }
        if let blocker = row.blocker { blocked[blocker, default: []].insert(row.id) }
    }

    private func leave(_ row: Row) {
        for place in places(of: row) { index[place]?.remove(row.id) }
    }

    // MARK: - Looking rows up

    /// All rows with these values in a place.
    private func holders(
        _ table: MergedTable, _ number: Int, _ place: MergedTable.Place, _ bytes: [UInt8],
        _ values: [SQLiteValue], shown: Bool = true
    ) throws -> [Row] {
        let sought = PlaceValue(table: table.index, place: number, bytes: bytes)
        if heldBackTables.contains(table.shape.number), soughtHeldBack.insert(sought).inserted {
            for key in try heldBack.keys(at: place, bytes) { _ = try row(table, key) }
        }
        if shown, self.sought.insert(sought).inserted {
            for key in try table.keys(at: place, values) { _ = try row(table, key) }
        }
        return (index[sought] ?? []).compactMap { rows[$0] }
    }

    /// The rows of a table with the values of a unique constraint.
    func holders(
        _ table: MergedTable, _ unique: Int, _ bytes: [UInt8], _ values: [SQLiteValue]
    ) throws -> [Row] { try holders(table, unique, table.uniques[unique], bytes, values) }

    /// The rows that refer to these values.
    func referrers(
        _ child: MergedTable, _ reference: Int, _ bytes: [UInt8], _ values: [SQLiteValue]
    ) throws -> [Row] {
        try holders(
            child, child.uniques.count + reference, child.references[reference].place, bytes, values
        )
    }

    /// The rows that refer to a row with these values.
    func referrers(
        of parent: [SQLiteValue], _ child: MergedTable, _ reference: Int, shown: Bool = true
    ) throws -> [Row] {
        let found = child.references[reference]
        guard let bytes = found.parentPlace.bytes(of: parent) else { return [] }
        return try holders(
            child, child.uniques.count + reference, found.place, bytes,
            found.parentPlace.values(of: parent), shown: shown)
    }

    /// The rows that refer to a row; rows in their tables only if `shown`, since there may be many.
    func referrers(of row: Row, shown: Bool) throws -> [Row] {
        guard let values = row.values else { return [] }
        return try tables[row.id.table].referrers.flatMap {
            try referrers(of: values, tables[$0.table], $0.reference, shown: shown)
        }
    }
}
