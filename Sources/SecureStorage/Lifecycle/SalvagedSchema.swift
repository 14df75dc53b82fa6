/// The schema of a damaged database, as far as it can be read.
struct SalvagedSchema {
    struct Entry {
        let type: String
        let name: String
        let table: String
        let rootPage: UInt32
        let sql: String

        /// A table that SQLite creates and maintains itself.
        var isInternal: Bool { name.hasPrefix("sqlite_") }
        /// A table of ANALYZE's statistics.
        var isStatistics: Bool { name.hasPrefix("sqlite_stat") }

        /// Returns nil for values that are not a row of `sqlite_schema` with SQL text.
        init?(_ values: [StoredValue], _ encoding: TextEncoding) {
            guard values.count == 5, case .text(let type) = values[0],
                case .text(let name) = values[1], case .text(let table) = values[2],
                case .integer(let root) = values[3], let rootPage = UInt32(exactly: root),
                case .text(let sql) = values[4]
            else { return nil }
            self.type = encoding.text(type)
            self.name = encoding.text(name)
            self.table = encoding.text(table)
            self.sql = encoding.text(sql)
            guard SalvagedSchema.types.contains(self.type), Self.makes(self.type, self.sql) else {
                return nil
            }
            self.rootPage = rootPage
        }

        /// Whether a text creates such an entry, as SQLite writes it: the text will be executed.
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

    /// Those with pages, in schema order.
    private(set) var tables: [Entry] = []
    /// Indexes with SQL text, views, triggers, virtual tables.
    private(set) var others: [Entry] = []
    var virtualTables: [SalvagedVirtualTable] { others.compactMap(SalvagedVirtualTable.init) }
    /// The roots of all indexes, including those of constraints.
    private(set) var indexRoots: [UInt32] = []
    /// Whether all of it was read.
    private(set) var isWhole: Bool

    init(_ tree: TreeReader) throws {
        let encoding = tree.header.encoding
        func type(_ values: [StoredValue]) -> String? {
            guard values.count == 5, case .text(let type) = values[0] else { return nil }
            return encoding.text(type)
        }
        var rows: [TreeReader.Row] = []
        try tree.claim(1)
        let gaps = try tree.walk(1, isTable: true) { rows.append($0) }
        isWhole =
            gaps.isEmpty
            && rows.allSatisfy { row in
                // A constraint's index has no SQL text.
                row.values.map {
                    Entry($0, encoding) != nil || type($0) == "index" && $0[4] == .null
                } ?? false
            }
        if !gaps.isEmpty {
            // Leaves whose content can only be a schema's.
            try tree.orphans { _, kind, candidates in
                let fits =
                    kind == .tableLeaf
                    && candidates.allSatisfy {
                        $0.values.flatMap(type).map(Self.types.contains) ?? false
                    }
                if fits { rows += candidates }
                return fits
            }
        }
        for row in rows.sorted(by: { $0.rowID ?? 0 < $1.rowID ?? 0 }) {
            guard let values = row.values else { continue }
            if type(values) == "index", case .integer(let root) = values[3] {
                indexRoots.append(UInt32(clamping: root))
            }
            guard let entry = Entry(values, encoding) else { continue }
            if entry.type == "table", entry.rootPage > 0 {
                tables.append(entry)
            } else {
                others.append(entry)
            }
        }
        // AUTOINCREMENT's and ANALYZE's tables exist once the others do.
        tables = tables.filter { !$0.isInternal } + tables.filter(\.isInternal)
    }

    private static let types = ["table", "index", "view", "trigger"]
}
