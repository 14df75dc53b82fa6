import SecureStorage

/// Reads one table from the file's schema, and checks whether it can be synced.
struct TableReading {
    /// As in ``TableShape``.
    let name: String
    let table: String
    let columns: [Column]
    /// Indices into `columns`, in the key's order.
    let key: [Int]
    let uniques: [TableShape.Unique]
    let foreignKeys: [TableShape.ForeignKey]
    let mayRefuseRows: Bool

    struct Column {
        var name: String
        var type: String
        var isNotNull: Bool
        var isGenerated: Bool

        /// Whether two values that SQLite treats as equal may have different storage classes: 1 and
        /// 1.0.
        ///
        /// Other columns convert values on writing.
        var keepsStorageClasses: Bool {
            let type = type.uppercased()
            if type.isEmpty || type == "ANY" { return true }
            return type.contains("BLOB")
                && !["INT", "CHAR", "CLOB", "TEXT"].contains { type.contains($0) }
        }
    }

    /// Key columns in which SQLite allows NULL.
    var nullableKey: [String] {
        allowsNullKeys ? key.map { columns[$0] }.filter { !$0.isNotNull }.map(\.name) : []
    }

    private let allowsNullKeys: Bool
    /// Whether SQLite would choose the next number for rows inserted without a key.
    let countsKeys: Bool

    /// - Throws: `SyncError.unsuitableTable`, with the reason and what to change.
    init(_ declaration: SyncedTables.Table, in db: SecureDatabaseStore) throws {
        func refusal(_ reason: String) -> SyncError {
            .unsuitableTable(declaration.table, reason)
        }
        let store = try declaration.keyValueStore.map { name in
            guard let table = try KeyValueTable.find(name, in: db) else {
                throw refusal("there is no such key-value store; open it first")
            }
            return table.table
        }

        var entry: (name: String, type: String, isWithoutRowID: Bool, isStrict: Bool)?
        var isTemporary = false
        try db.rows(
            "SELECT name, type, wr, strict, schema FROM pragma_table_list WHERE name = ? COLLATE NOCASE",
            [store ?? declaration.table]
        ) {
            switch try $0.text(at: 4) {
            case "main":
                entry = (
                    try $0.text(at: 0), try $0.text(at: 1), try $0.number(at: 2) != 0,
                    try $0.number(at: 3) != 0
                )
            case "temp": isTemporary = true
            default: break
            }
        }
        guard let entry else {
            throw refusal(
                isTemporary
                    ? "it is temporary; sync a table of the file"
                    : "there is no such table; create it before the triggers are installed")
        }
        switch entry.type {
        case "table": break
        case "view": throw refusal("it is a view; sync the tables that it reads")
        case "virtual", "shadow":
            throw refusal(
                "it is a virtual table or part of one; sync the table that it is made of, and fill it by triggers"
            )
        default: throw refusal("it is not an ordinary table")
        }
        guard store != nil || !entry.name.lowercased().hasPrefix("securestorage_") else {
            throw refusal("it belongs to this library")
        }
        table = entry.name
        name = store == nil ? table : declaration.table

        var columns: [Column] = []
        var keyRanks: [(rank: Int64, index: Int)] = []
        try db.rows(
            "SELECT name, type, \"notnull\", pk, hidden FROM pragma_table_xinfo(?, 'main') ORDER BY cid",
            [table]
        ) {
            let rank = try $0.number(at: 3)
            if rank > 0 { keyRanks.append((rank, columns.count)) }
            columns.append(
                Column(
                    name: try $0.text(at: 0), type: try $0.text(at: 1),
                    isNotNull: try $0.number(at: 2) != 0, isGenerated: try $0.number(at: 4) > 1))
        }
        self.columns = columns
        key = keyRanks.sorted { $0.rank < $1.rank }.map(\.index)
        guard !key.isEmpty else {
            throw refusal("it has no PRIMARY KEY, by which members could name a row; declare one")
        }

        let sql = try db.string(
            forQuery: "SELECT sql FROM main.sqlite_schema WHERE type = 'table' AND name = ?",
            values: [table])
        let words = SQLWord.all(in: sql ?? "").map(\.keyword)
        guard !words.contains("AUTOINCREMENT") else {
            throw refusal(
                "its key is AUTOINCREMENT, which each member counts by itself; use a random key")
        }
        mayRefuseRows =
            try entry.isStrict || words.contains("CHECK") || columns.contains(where: \.isGenerated)
            || Self.hasExpressions(table, in: db)

        let indexes = try Self.indexes(of: table, in: db)
        let primary = indexes.first { $0.origin == "pk" }
        if primary == nil, !entry.isWithoutRowID, declaration.ids != .random {
            throw refusal(
                "its key is an INTEGER PRIMARY KEY, which each member counts by itself; use TEXT or BLOB keys, or give "
                    + "each row a random number and declare ids: .random")
        }
        allowsNullKeys = primary != nil && !entry.isWithoutRowID
        countsKeys = primary == nil && !entry.isWithoutRowID
        for (name, collation) in primary.map({ zip($0.columns, $0.collations) }).map(Array.init)
            ?? []
        where !collation.isSameName(as: "BINARY") {
            throw refusal(
                "the column \"\(name ?? "")\" of its key has the collation \(collation), which takes different bytes as one "
                    + "row; declare it COLLATE BINARY")
        }
        let generated = Set(columns.filter(\.isGenerated).map(\.name.sqlNameKey))
        uniques = try indexes.filter { $0.origin != "pk" }.map { index in
            guard !index.isPartial else {
                throw refusal("the unique index \"\(index.name)\" has a condition; use one without")
            }
            let columns = index.columns.compactMap { $0 }
            guard columns.count == index.columns.count else {
                throw refusal(
                    "the unique index \"\(index.name)\" has an expression; store its value in an ordinary column, and "
                        + "make that unique")
            }
            // Each member must compute in the same way which of two rows stays, without asking
            // SQLite.
            if let column = columns.first(where: { generated.contains($0.sqlNameKey) }) {
                throw refusal(
                    "the unique index \"\(index.name)\" has the generated column \"\(column)\"; store its value in "
                        + "an ordinary column, and make that unique")
            }
            if let own = index.collations.first(where: { !Self.isBuiltIn($0) }) {
                throw refusal(
                    "the unique index \"\(index.name)\" has the collation \(own) of the app, which may differ between its "
                        + "versions; use BINARY, NOCASE or RTRIM")
            }
            return TableShape.Unique(columns: columns, collations: index.collations)
        }
        foreignKeys = try Self.foreignKeys(of: table, in: db)
    }

    /// Whether an index or a trigger computes something from a row's values.
    private static func hasExpressions(
        _ table: String, in db: SecureDatabaseStore
    ) throws -> Bool {
        try db.bool(
            forQuery: """
                SELECT EXISTS (
                    SELECT 1 FROM pragma_index_list(?1, 'main') AS list,
                        pragma_index_xinfo(list.name, 'main') AS info
                    WHERE list.partial OR info.cid = -2)
                OR EXISTS (
                    SELECT 1 FROM main.sqlite_schema WHERE type = 'trigger'
                        AND tbl_name = ?1 COLLATE NOCASE AND name NOT GLOB 'securestorage_*')
                """, values: [table]) ?? false
    }

    private static func isBuiltIn(_ collation: String) -> Bool {
        ["BINARY", "NOCASE", "RTRIM"].contains { collation.isSameName(as: $0) }
    }

    private struct Index {
        var name: String
        var origin: String
        var isPartial: Bool
        /// nil: an expression.
        var columns: [String?] = []
        var collations: [String] = []
    }

    private static func indexes(of table: String, in db: SecureDatabaseStore) throws -> [Index] {
        var indexes: [Index] = []
        try db.rows(
            "SELECT name, origin, partial FROM pragma_index_list(?, 'main') WHERE \"unique\" = 1 ORDER BY name",
            [table]
        ) {
            indexes.append(
                Index(
                    name: try $0.text(at: 0), origin: try $0.text(at: 1),
                    isPartial: try $0.number(at: 2) != 0))
        }
        for position in indexes.indices {
            try db.rows(
                "SELECT cid, name, coll FROM pragma_index_xinfo(?, 'main') WHERE key = 1 ORDER BY seqno",
                [indexes[position].name]
            ) {
                let isColumn = try $0.number(at: 0) >= 0
                indexes[position].columns.append(isColumn ? try $0.text(at: 1) : nil)
                indexes[position].collations.append(try $0.text(at: 2))
            }
        }
        return indexes
    }

    private static func foreignKeys(
        of table: String, in db: SecureDatabaseStore
    ) throws -> [TableShape.ForeignKey] {
        var keys: [Int64: TableShape.ForeignKey] = [:]
        try db.rows(
            """
            SELECT id, "table", "from", "to", on_update, on_delete
            FROM pragma_foreign_key_list(?, 'main') ORDER BY id, seq
            """, [table]
        ) {
            let id = try $0.number(at: 0)
            let onDelete = try $0.text(at: 5)
            let onUpdate = try $0.text(at: 4)
            let parent = try $0.text(at: 1)
            guard ["NO ACTION", "CASCADE"].contains(onDelete) else {
                throw SyncError.unsuitableTable(
                    table,
                    "its reference to \"\(parent)\" says ON DELETE \(onDelete), on which members cannot agree; use "
                        + "CASCADE or NO ACTION")
            }
            guard ["NO ACTION", "CASCADE"].contains(onUpdate) else {
                throw SyncError.unsuitableTable(
                    table,
                    "its reference to \"\(parent)\" says ON UPDATE \(onUpdate), on which members cannot agree; use "
                        + "CASCADE or NO ACTION")
            }
            var key =
                keys[id]
                ?? TableShape.ForeignKey(
                    columns: [], parent: parent, parentColumns: [], onDelete: onDelete)
            key.columns.append(try $0.text(at: 2))
            // NULL, so empty, for the parent's primary key.
            key.parentColumns.append(try $0.text(at: 3))
            keys[id] = key
        }
        return keys.sorted { $0.key < $1.key }.map(\.value)
    }
}

extension SecureDatabaseStore {
    /// Runs a query and passes each row.
    func rows(
        _ sql: String, _ values: [String] = [], _ body: (SecureDatabaseResultSet) throws -> Void
    ) throws {
        let rows = try executeQuery(sql, values: values)
        defer { rows.close() }
        while try rows.next() { try body(rows) }
    }
}
