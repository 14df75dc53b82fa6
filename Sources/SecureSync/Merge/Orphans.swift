import SecureStorage

/// Rows of the file whose parents are missing: they were written by a program without foreign keys
/// enabled, which is SQLite's default.
struct Orphans {
    let shapes: [TableShape]
    let db: SecureDatabaseStore

    struct Row {
        var table: String
        var key: [SQLiteValue]
    }

    private struct Reference {
        var child: TableShape
        var parent: TableShape
        var foreignKey: TableShape.ForeignKey

        /// For a child `t`.
        var isMissing: String {
            let isSet = foreignKey.columns.map { "t.\($0.sqlName) IS NOT NULL" }
            return isSet.joined(separator: " AND ")
                + " AND NOT EXISTS (SELECT 1 FROM main.\(parent.table.sqlName) AS p WHERE "
                + pairs.map { "p.\($1.sqlName) = t.\($0.sqlName)" }.joined(separator: " AND ")
                + ")"
        }

        /// The columns of the child, each with its referenced column.
        var pairs: [(String, String)] {
            Array(zip(foreignKey.columns, foreignKey.parentColumns))
        }

        /// The place of each referenced column in the parent's key; nil if other columns are
        /// referenced.
        var keyPlaces: [Int]? {
            let places = foreignKey.parentColumns.compactMap { column in
                parent.key.firstIndex { $0.isSameName(as: column) }
            }
            return places.count == pairs.count && places.count == parent.key.count ? places : nil
        }
    }

    init(of shapes: [TableShape], in db: SecureDatabaseStore) {
        (self.shapes, self.db) = (shapes, db)
    }

    private var references: [Reference] {
        shapes.flatMap { child in
            child.foreignKeys.compactMap { key in
                shapes.first { $0.name.isSameName(as: key.parent) }.map {
                    Reference(child: child, parent: $0, foreignKey: key)
                }
            }
        }
    }

    /// All of them.
    func all() throws -> [Row] {
        try references.flatMap { try rows(of: $0) }
    }

    /// Orphans that were written since the last timestamping, or whose parents were; to be called
    /// before the marks are removed.
    func marked() throws -> [Row] {
        try references.flatMap { try written($0) + left($0) }
    }

    /// Rows that were written.
    private func written(_ reference: Reference) throws -> [Row] {
        let child = reference.child
        let isKey = zip(child.key, child.keyNames).map { "t.\($0.sqlName) = m.\($1)" }
        return try rows(
            of: reference, besides: keys(of: child, where: "true"),
            where: isKey.joined(separator: " AND "))
    }

    /// Rows whose parents were removed or changed.
    private func left(_ reference: Reference) throws -> [Row] {
        let parent = reference.parent
        let isGone = "mask IN (\(Mark.deleted), \(Mark.perhapsReplaced))"
        guard let places = reference.keyPlaces else {
            // The former values are not known.
            let numbers = reference.foreignKey.parentColumns.compactMap { parent.columnNumbers[$0] }
            let isChanged = numbers.map {
                " OR mask >> \(Mark.wordWidth) = \(Mark.word(of: $0)) AND mask & \(Mark.bit(of: $0))"
            }
            let count = try db.int(
                forQuery:
                    "SELECT EXISTS (SELECT 1 FROM main.\(parent.markTable) WHERE \(isGone)\(isChanged.joined()))"
            )
            return count == 1 ? try rows(of: reference) : []
        }
        let isParent = zip(parent.key, parent.keyNames).map { "p.\($0.sqlName) = \($1)" }
        let gone = keys(
            of: parent,
            where: isGone + " AND NOT EXISTS (SELECT 1 FROM main.\(parent.table.sqlName) AS p "
                + "WHERE \(isParent.joined(separator: " AND ")))")
        let refers = zip(reference.foreignKey.columns, places).map {
            "t.\($0.sqlName) = m.\(parent.keyNames[$1])"
        }
        return try rows(of: reference, besides: gone, where: refers.joined(separator: " AND "))
    }

    private func keys(of shape: TableShape, where condition: String) -> String {
        "(SELECT DISTINCT \(shape.keyNames.joined(separator: ", ")) FROM main.\(shape.markTable) "
            + "WHERE \(condition)) AS m CROSS JOIN"
    }

    private func rows(
        of reference: Reference, besides marks: String = "", where condition: String = "true"
    ) throws -> [Row] {
        let child = reference.child
        let names = child.key.map { "t.\($0.sqlName)" }.joined(separator: ", ")
        var keys: [[SQLiteValue]] = []
        let found = try db.executeQuery(
            """
            SELECT \(names) FROM \(marks) main.\(child.table.sqlName) AS t
            WHERE \(condition) AND \(reference.isMissing)
            """)
        defer { found.close() }
        while try found.next() {
            // A row whose key has text that is not UTF-8 is not sent anyway.
            let key = try Timestamping.Marks(in: found, count: child.key.count)
            if key.notText.isEmpty { keys.append(key.key) }
        }
        return keys.map { Row(table: child.name, key: $0) }
    }
}
