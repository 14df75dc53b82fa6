/// The schema of a damaged database, as far as it can be read.
struct SalvagedSchema {
    struct Entry {
        let type: String
        let name: String
        let table: String
        let rootPage: UInt32
        let sql: String

        /// A table that SQLite makes and keeps by itself.
        var isInternal: Bool { name.hasPrefix("sqlite_") }

        /// nil for values that are no row of `sqlite_schema` with a text.
        init?(_ values: [SQLiteValue]) {
            guard values.count == 5, case .text(let type) = values[0],
                ["table", "index", "view", "trigger"].contains(type),
                case .text(let name) = values[1], case .text(let table) = values[2],
                case .integer(let root) = values[3], let rootPage = UInt32(exactly: root),
                case .text(let sql) = values[4], Self.makes(type, sql)
            else { return nil }
            (self.type, self.name, self.table, self.sql) = (type, name, table, sql)
            self.rootPage = rootPage
        }

        /// Whether a text is that of such an entry, as SQLite writes it: the text is run.
        private static func makes(_ type: String, _ sql: String) -> Bool {
            let words = sql.uppercased().split(maxSplits: 3) { $0.isWhitespace }
            guard words.first == "CREATE", words.count > 2 else { return false }
            switch type {
            case "table": return words[1] == "TABLE" || words[1...2] == ["VIRTUAL", "TABLE"]
            case "index": return words[1] == "INDEX" || words[1...2] == ["UNIQUE", "INDEX"]
            default: return words[1] == type.uppercased()
            }
        }
    }

    /// With pages, in their order.
    private(set) var tables: [Entry] = []
    /// Indexes with a text, views, triggers, virtual tables.
    private(set) var others: [Entry] = []
    /// The roots of all indexes, those of constraints among them.
    private(set) var indexRoots: [UInt32] = []
    /// Whether all of it was read.
    private(set) var isWhole: Bool

    init(_ tree: TreeReader) throws {
        var rows: [TreeReader.Row] = []
        let gaps = try tree.walk(1) { rows.append($0) }
        isWhole = gaps.isEmpty && rows.allSatisfy { $0.values.map(Self.isUsable) ?? false }
        if !gaps.isEmpty {
            // Leaves that only hold what a schema holds.
            var found: [TreeReader.Row] = []
            try tree.orphans { _, page in
                guard page.header.kind == .tableLeaf else { return }
                let candidates = try tree.rows(of: page)
                let fits = candidates.allSatisfy {
                    $0.values.map { $0.count == 5 && Self.isType($0[0]) } ?? false
                }
                if fits { found += candidates }
            }
            rows += found
        }
        for row in rows.sorted(by: { $0.rowID ?? 0 < $1.rowID ?? 0 }) {
            guard let values = row.values else { continue }
            if values.count == 5, values[0] == .text("index"), case .integer(let root) = values[3] {
                indexRoots.append(UInt32(clamping: root))
            }
            guard let entry = Entry(values) else { continue }
            if entry.type == "table", entry.rootPage > 0 {
                tables.append(entry)
            } else {
                others.append(entry)
            }
        }
        // AUTOINCREMENT's and ANALYZE's tables exist when the others do.
        tables = tables.filter { !$0.isInternal } + tables.filter(\.isInternal)
    }

    /// An index of a constraint has no text.
    private static func isUsable(_ values: [SQLiteValue]) -> Bool {
        Entry(values) != nil
            || values.count == 5 && values[0] == .text("index") && values[4] == .null
    }

    private static func isType(_ value: SQLiteValue) -> Bool {
        ["table", "index", "view", "trigger"].contains { value == .text($0) }
    }
}
