/// The triggers of one table, as text: plain SQL that runs when any SQLCipher program writes, even
/// one without this library.
///
/// Each appends a mark. Appending is cheaper than keeping one mark for each row; for apps that
/// change one row repeatedly, see `compaction`.
struct CaptureTriggers {
    let shape: TableShape
    let reading: TableReading
    /// Whether the file is a reader's, and writes are refused.
    let isReadOnly: Bool

    /// The triggers' names and texts, in the order of creation.
    var texts: [(name: String, sql: String)] {
        if isReadOnly { return refusals + expiry }
        return [insertion, deletion, keyChange] + counting + updates + zeros + replacements + expiry
            + [
                compaction
            ]
    }

    private func trigger(
        _ kind: String, _ event: String, on table: String? = nil, when condition: String,
        _ body: [String]
    ) -> (name: String, sql: String) {
        let name = "securestorage_sync_\(shape.number)_\(kind)"
        let sql = """
            CREATE TRIGGER \(name) \(event) ON \(table ?? shape.table.sqlName) WHEN \(condition) BEGIN
            \(body.map { $0 + ";" }.joined(separator: "\n"))
            END
            """
        return (name, sql)
    }

    private func columns(_ names: [String], of row: String) -> [String] {
        names.map { "\(row).\($0.sqlName)" }
    }

    private var markColumns: String {
        "\(shape.markTable) (\(shape.keyNames.joined(separator: ", ")), mask, at)"
    }

    private func mark(_ row: String, _ mask: String) -> String {
        "INSERT INTO \(markColumns) VALUES (\(columns(shape.key, of: row).joined(separator: ", ")), \(mask), \(Bookkeeping.now))"
    }

    private var insertion: (name: String, sql: String) {
        trigger(
            "insert", "AFTER INSERT", when: Bookkeeping.isCapturing,
            [mark("NEW", "\(Mark.inserted)")])
    }

    /// Refuses rows for which SQLite would choose the next number, as it would on each device.
    ///
    /// In a BEFORE trigger of such an insertion, the number is -1.
    private var counting: [(name: String, sql: String)] {
        guard reading.countsKeys, let key = shape.key.first else { return [] }
        let reason =
            "the table \"\(shape.name)\" is synced, and each device would count its keys alike: give "
            + "\"\(key)\" a random number, such as SyncedTables.randomID(), or abs(random() >> 1) in SQL"
        return [
            trigger(
                "count", "BEFORE INSERT",
                when: "\(Bookkeeping.isCapturing) AND NEW.\(key.sqlName) = -1",
                ["SELECT RAISE(ABORT, \(reason.sqlLiteral))"])
        ]
    }

    /// Writes that SQLite would accept here would never be sent.
    private var refusals: [(name: String, sql: String)] {
        let reason =
            "the table \"\(shape.name)\" is synced, and this device is a reader of its group: only the "
            + "others write to it"
        let isAllowed = shape.isKeyValueStore ? " AND NOT \(Self.isExpired)" : ""
        return [("insert", ""), ("update", ""), ("delete", isAllowed)].map { event, condition in
            trigger(
                "refuse_\(event)", "BEFORE \(event.uppercased())",
                when: Bookkeeping.isCapturing + condition,
                ["SELECT RAISE(ABORT, \(reason.sqlLiteral))"])
        }
    }

    private var deletion: (name: String, sql: String) {
        trigger(
            "delete", "AFTER DELETE",
            when: Bookkeeping.isCapturing
                + (shape.isKeyValueStore ? " AND NOT \(Self.isExpired)" : ""),
            [mark("OLD", "\(Mark.deleted)")])
    }

    private static let isExpired =
        "(OLD.expires IS NOT NULL AND OLD.expires * 1000 <= \(Bookkeeping.now))"

    /// Expired values of a key-value store, which a read removes.
    ///
    /// Captured as a deletion, the removal would win over a newer value from another device. So it
    /// is not captured, and waits until all members know the value: otherwise members that do not
    /// know it would keep the earlier value.
    private var expiry: [(name: String, sql: String)] {
        guard shape.isKeyValueStore else { return [] }
        let key = zip(shape.keyNames, columns(shape.key, of: "OLD")).map { "\($0) = \($1)" }
            .joined(separator: " AND ")
        return [
            trigger(
                "expire", "BEFORE DELETE",
                when: "\(Bookkeeping.isCapturing) AND \(Self.isExpired) AND ("
                    + "EXISTS (SELECT 1 FROM \(shape.markTable)) OR "
                    + "EXISTS (SELECT 1 FROM \(shape.recentClockTable) WHERE \(key)) OR "
                    + "EXISTS (SELECT 1 FROM \(shape.clockTable) WHERE \(key)))",
                ["SELECT RAISE(IGNORE)"])
        ]
    }

    /// Whether an UPDATE changed a column: compared by bytes, whatever the column's collation, and
    /// by storage class where equal values may differ in it.
    private func isChanged(_ name: String) -> String {
        let (old, new) = ("OLD.\(name.sqlName)", "NEW.\(name.sqlName)")
        let comparison = "\(old) IS NOT \(new) COLLATE BINARY"
        let column = reading.columns.first { $0.name == name }
        guard column?.keepsStorageClasses ?? true else { return comparison }
        return "(\(comparison) OR typeof(\(old)) <> typeof(\(new)))"
    }

    /// A row with another key is another row.
    ///
    /// Without `UPDATE OF`, since a key that is the row id can be set under other names.
    private var keyChange: (name: String, sql: String) {
        let changes = shape.key.map(isChanged).joined(separator: " OR ")
        return trigger(
            "key", "AFTER UPDATE", when: "\(Bookkeeping.isCapturing) AND (\(changes))",
            [mark("OLD", "\(Mark.deleted)"), mark("NEW", "\(Mark.inserted)")])
    }

    /// A trigger for each 48 columns.
    private var updates: [(name: String, sql: String)] {
        let numbered = shape.groups.joined().compactMap { name in
            shape.columnNumbers[name].map { (name: name, number: $0) }
        }
        let words = Dictionary(grouping: numbered) { Mark.word(of: $0.number) }
        return words.sorted { $0.key < $1.key }.map { word, columns in
            let bits = columns.sorted { $0.number < $1.number }.map {
                "(\(isChanged($0.name))) * \(Mark.bit(of: $0.number))"
            }
            let base = word << Mark.wordWidth
            let mask = (base == 0 ? "" : "\(base) + ") + bits.joined(separator: " + ")
            let changed = columns.sorted { $0.number < $1.number }.map { isChanged($0.name) }
            return trigger(
                "update_\(word)", "AFTER UPDATE",
                when:
                    "\(Bookkeeping.isCapturing) AND (\(changed.joined(separator: " OR ")))",
                // A value put under a key may be later than its removal on another device.
                [mark("NEW", shape.isKeyValueStore ? "\(Mark.inserted)" : mask)])
        }
    }

    /// Updates of a floating-point zero to another zero, which may have a different sign.
    ///
    /// No SQL expression distinguishes 0.0 from -0.0, so an update from zero to zero counts as a
    /// write. If the column has a type, SQLite does not keep the sign of a zero.
    private var zeros: [(name: String, sql: String)] {
        guard !shape.isKeyValueStore else { return [] }
        return shape.groups.joined().compactMap { name in
            guard let number = shape.columnNumbers[name],
                reading.columns.first(where: { $0.name == name })?.keepsStorageClasses == true
            else { return nil }
            let isZero = ["OLD", "NEW"].map {
                " AND typeof(\($0).\(name.sqlName)) = 'real' AND \($0).\(name.sqlName) = 0.0"
            }.joined()
            let word = Mark.word(of: number) << Mark.wordWidth
            return trigger(
                "zero_\(number)", "AFTER UPDATE OF \(name.sqlName)",
                when: Bookkeeping.isCapturing + isZero,
                [mark("NEW", "\(word + Mark.bit(of: number))")])
        }
    }

    /// Marks rows whose UNIQUE value another row is about to get.
    ///
    /// A REPLACE removes them, and SQLite runs delete triggers for them only with
    /// `recursive_triggers`. If the rows stay, the marks have no effect.
    private var replacements: [(name: String, sql: String)] {
        guard !shape.uniques.isEmpty else { return [] }
        func victims(_ unique: TableShape.Unique, _ condition: String) -> String {
            let own = shape.table.sqlName
            let equal = zip(unique.columns, unique.collations).map { column, collation in
                "\(own).\(column.sqlName) = NEW.\(column.sqlName) COLLATE \(collation.sqlName)"
            }
            return "INSERT INTO \(markColumns) SELECT "
                + columns(shape.key, of: own).joined(separator: ", ")
                + ", \(Mark.perhapsReplaced), \(Bookkeeping.now) FROM \(own) WHERE "
                + equal.joined(separator: " AND ") + condition
        }
        let isOther =
            " AND NOT ("
            + shape.key.map { "\(shape.table.sqlName).\($0.sqlName) IS OLD.\($0.sqlName)" }
            .joined(separator: " AND ") + ")"
        let changed = Set(shape.uniques.flatMap(\.columns)).sorted().map(isChanged)
            .joined(separator: " OR ")
        return [
            trigger(
                "replace", "BEFORE INSERT", when: Bookkeeping.isCapturing,
                shape.uniques.map { victims($0, "") }),
            trigger(
                "replace_update", "BEFORE UPDATE",
                when: "\(Bookkeeping.isCapturing) AND (\(changed))",
                shape.uniques.map { victims($0, isOther) }),
        ]
    }

    /// Keeps only the last of equal marks, each time there are twice as many as needed, so a row
    /// that changes a million times before the next timestamping does not fill the file.
    private var compaction: (name: String, sql: String) {
        let keys = shape.keyNames.joined(separator: ", ")
        let limit = Bookkeeping.compactionLimit
        let own = "securestorage_sync_table"
        return trigger(
            "compact", "AFTER INSERT", on: shape.markTable,
            when:
                "NEW.id % 4096 = 0 AND NEW.id >= (SELECT compact_at FROM \(own) WHERE number = \(shape.number))",
            [
                "DELETE FROM \(shape.markTable) WHERE id NOT IN "
                    + "(SELECT max(id) FROM \(shape.markTable) GROUP BY \(keys), mask)",
                "UPDATE \(own) SET compact_at = NEW.id + max(\(limit), "
                    + "3 * (SELECT count(*) FROM \(shape.markTable))) WHERE number = \(shape.number)",
            ])
    }
}
