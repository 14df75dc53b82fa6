internal import Foundation
import SecureStorage

/// A synced table for merging: its columns by position, its unique constraints and references, and
/// its statements.
///
/// To be used within one transaction.
final class MergedTable {
    let shape: TableShape
    /// Its place among the tables.
    let index: Int
    /// The key's columns, then the others; a row's values are in this order.
    let columns: [String]
    /// The number of each column in clocks; -1 for those of the key.
    let numbers: [Int64]
    let positions: [String: Int]
    let keyCount: Int
    /// The positions of each group.
    let groups: [[Int]]
    let uniques: [Place]
    /// Set once all tables are known.
    var references: [Reference] = []
    var referrers: [(table: Int, reference: Int)] = []
    /// Whether a value at the position affects other rows.
    var isInUnique: [Bool]
    var isInReference: [Bool]
    /// Non-key columns that other tables refer to.
    var isReferredTo: [Bool]

    let clocks: ClockTable
    private let db: SecureDatabaseStore
    private let insertion: SecureDatabaseStatement
    private let deletion: SecureDatabaseStatement
    private let selection: SecureDatabaseStatement
    private var updates: [[Int]: SecureDatabaseStatement] = [:]
    private var foundDefaults: [SQLiteValue]?

    /// Columns whose values are looked up together: those of a UNIQUE constraint, or of a
    /// reference.
    struct Place {
        /// Its name in the file, which is stable as long as its meaning is.
        var name: String
        var positions: [Int]
        var collations: [String]

        /// The bytes shared by all rows that are equal here; nil if one of the values is NULL,
        /// which is never equal.
        func bytes(of row: [SQLiteValue]) -> [UInt8]? {
            var writer = CBORWriter(capacity: 24)
            for (position, collation) in zip(positions, collations) {
                if row[position] == .null { return nil }
                writer.stored(row[position].folded(collation))
            }
            return writer.bytes
        }

        func values(of row: [SQLiteValue]) -> [SQLiteValue] { positions.map { row[$0] } }
    }

    struct Reference {
        /// In the referring rows, compared like the referenced columns.
        var place: Place
        var parent: Int
        /// The referenced columns of the parent.
        var parentPlace: Place
        /// The place of each column of the parent's key in the reference; nil if it refers to other
        /// columns.
        var keyOrder: [Int]?
        var deletesRows: Bool
    }

    init(
        _ shape: TableShape, index: Int, members: MemberNumbers, in db: SecureDatabaseStore
    ) throws {
        self.shape = shape
        self.index = index
        self.db = db
        let columns = shape.columns
        self.columns = columns
        keyCount = shape.key.count
        numbers = columns.indices.map {
            $0 < shape.key.count ? -1 : shape.columnNumbers[columns[$0]] ?? -1
        }
        let positions = Dictionary(
            columns.indices.map { (columns[$0].sqlNameKey, $0) }, uniquingKeysWith: { $1 })
        self.positions = positions
        groups = shape.groups.map { $0.compactMap { positions[$0.sqlNameKey] } }
        uniques = shape.uniques.compactMap { unique in
            // A generated column is not among the columns: only SQLite can compare it.
            let places = unique.columns.compactMap { positions[$0.sqlNameKey] }
            guard places.count == unique.columns.count else { return nil }
            let names = zip(unique.columns, unique.collations).map { "\($0) \($1)" }
            return Place(
                name: "unique \(shape.number) \(names.joined(separator: ","))",
                positions: places, collations: unique.collations)
        }
        isInUnique = columns.map { _ in false }
        isInReference = isInUnique
        isReferredTo = isInUnique
        for place in uniques { for position in place.positions { isInUnique[position] = true } }

        clocks = try ClockTable(of: shape, members: members, in: db)
        let marks = columns.map { _ in "?" }.joined(separator: ", ")
        let names = columns.map(\.sqlName).joined(separator: ", ")
        let table = "main.\(shape.table.sqlName)"
        let condition = shape.key.map { "\($0.sqlName) = ?" }.joined(separator: " AND ")
        insertion = try db.prepare(
            "INSERT INTO \(table) (\(names)) VALUES (\(marks)) ON CONFLICT DO NOTHING")
        deletion = try db.prepare("DELETE FROM \(table) WHERE \(condition)")
        selection = try db.prepare("SELECT \(names) FROM \(table) WHERE \(condition)")
    }

    // MARK: - Writing

    /// Returns false if the key or a unique value is taken.
    func insert(_ row: [SQLiteValue]) throws -> Bool {
        try insertion.executeUpdate(row: row)
        return try db.changedRowCount() == 1
    }

    func delete(_ key: [SQLiteValue]) throws -> Bool {
        try deletion.executeUpdate(row: key)
        return try db.changedRowCount() == 1
    }

    /// Sets columns of a row; returns false if there is no row with the key.
    func update(
        _ positions: [Int], to values: [SQLiteValue], of key: [SQLiteValue]
    ) throws -> Bool {
        let statement: SecureDatabaseStatement
        if let known = updates[positions] {
            statement = known
        } else {
            let names = positions.map { "\(columns[$0].sqlName) = ?" }.joined(separator: ", ")
            let condition = shape.key.map { "\($0.sqlName) = ?" }.joined(separator: " AND ")
            statement = try db.prepare(
                "UPDATE main.\(shape.table.sqlName) SET \(names) WHERE \(condition)")
            updates[positions] = statement
        }
        try statement.executeUpdate(row: values + key)
        return try db.changedRowCount() == 1
    }

    // MARK: - Reading

    /// Returns nil if the table has no row with the key.
    ///
    /// TEXT that is not UTF-8, which is never sent, is read as a BLOB of the same bytes, so nothing
    /// is lost if the row is rewritten.
    func row(of key: [SQLiteValue]) throws -> [SQLiteValue]? {
        let rows = try selection.executeQuery(row: key)
        defer { rows.close() }
        guard try rows.next() else { return nil }
        return try columns.indices.map { column in
            do { return try rows.sqliteValue(at: column) } catch SecureStorageError
                .typeConversionFailed
            {
                return .blob(rows.data(forColumnIndex: column) ?? Data())
            }
        }
    }

    /// The keys of the table's rows with these values in a place.
    func keys(
        at place: Place, _ values: [SQLiteValue], limit: Int? = nil
    ) throws -> [[SQLiteValue]] {
        let conditions = zip(place.positions, place.collations).map {
            "\(columns[$0].sqlName) = ? COLLATE \($1.sqlName)"
        }
        let names = shape.key.map(\.sqlName).joined(separator: ", ")
        return try db.allRows(
            "SELECT \(names) FROM main.\(shape.table.sqlName) WHERE "
                + conditions.joined(separator: " AND ") + (limit.map { " LIMIT \($0)" } ?? ""),
            values, columns: keyCount)
    }

    /// The values of columns that a row's writer does not know.
    func defaults() throws -> [SQLiteValue] {
        if let foundDefaults { return foundDefaults }
        var defaults = columns.map { _ in SQLiteValue.null }
        let texts = try db.allRows(
            "SELECT name, dflt_value FROM pragma_table_xinfo(?, 'main') WHERE dflt_value IS NOT NULL",
            [.text(shape.table)], columns: 2)
        for text in texts {
            guard case .text(let name) = text[0], case .text(let sql) = text[1],
                let position = positions[name.sqlNameKey]
            else { continue }
            defaults[position] = try db.allRows("SELECT \(sql)", columns: 1).first?.first ?? .null
        }
        foundDefaults = defaults
        return defaults
    }

    // MARK: - References between tables

    /// Returns the tables with the references between them.
    static func all(
        _ shapes: [TableShape], members: MemberNumbers, in db: SecureDatabaseStore
    ) throws -> [MergedTable] {
        let tables = try shapes.enumerated().map {
            try MergedTable($1, index: $0, members: members, in: db)
        }
        for table in tables {
            for key in table.shape.foreignKeys {
                guard let reference = table.reference(key, among: tables) else { continue }
                let parent = tables[reference.parent]
                for position in reference.place.positions { table.isInReference[position] = true }
                for position in reference.parentPlace.positions
                where position >= parent.keyCount {
                    parent.isReferredTo[position] = true
                }
                parent.referrers.append((table.index, table.references.count))
                table.references.append(reference)
            }
        }
        return tables
    }

    private func reference(
        _ key: TableShape.ForeignKey, among tables: [MergedTable]
    ) -> Reference? {
        guard let parent = tables.first(where: { $0.shape.name.isSameName(as: key.parent) }) else {
            return nil
        }
        let own = key.columns.compactMap { positions[$0.sqlNameKey] }
        let others = key.parentColumns.compactMap { parent.positions[$0.sqlNameKey] }
        guard own.count == key.columns.count, others.count == own.count else { return nil }
        var keyOrder: [Int]?
        var collations = others.map { _ in "BINARY" }
        if Set(others) == Set(0..<parent.keyCount), others.count == parent.keyCount {
            keyOrder = (0..<parent.keyCount).compactMap { others.firstIndex(of: $0) }
        } else {
            guard
                let unique = parent.uniques.first(where: {
                    Set($0.positions) == Set(others) && $0.positions.count == others.count
                })
            else { return nil }
            collations = others.map { position in
                unique.positions.firstIndex(of: position).map { unique.collations[$0] } ?? "BINARY"
            }
        }
        let names = zip(key.columns, key.parentColumns).map { "\($0) \($1)" }
        let name = "reference \(shape.number) \(parent.shape.number) "
        return Reference(
            place: Place(
                name: name + names.joined(separator: ","), positions: own, collations: collations),
            parent: parent.index,
            parentPlace: Place(name: "", positions: others, collations: collations),
            keyOrder: keyOrder, deletesRows: key.onDelete != "NO ACTION")
    }
}

extension SecureStorageError {
    /// Whether a row was refused because of its values, or those of other rows.
    var isRefusal: Bool {
        switch resultCode?.primary {
        // A wrong type for the INTEGER PRIMARY KEY is a mismatch.
        case .constraint, .mismatch: true
        // An index, a CHECK or a trigger fails for the row's values, such as a JSON function for
        // text that is not JSON.
        case .error, .tooBig: true
        default: false
        }
    }
}
