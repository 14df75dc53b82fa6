internal import Foundation
internal import SecureStorage

/// A synced table during a merge: its rows, their clocks, and the statements that write them.
///
/// Writes are not captured: the caller has set `applying`.
final class MergedTable {
    let shape: TableShape
    private let db: SecureDatabaseStore
    private let clocks: ClockTable
    private let reader: RowReader
    private let insertAll: SecureDatabaseStatement
    private let insertClock: SecureDatabaseStatement
    private let deleteRow: SecureDatabaseStatement
    private let members: MemberNumbers
    /// Statements for some of the columns, by their names.
    private var updates: [[String]: SecureDatabaseStatement] = [:]
    /// The columns outside of the key by their folded names, in their spelling here.
    private let columnNames: [String: String]
    private let columns: [String]
    private let condition: String
    private var name: String { "main.\(shape.name.sqlName)" }

    init(_ shape: TableShape, members: MemberNumbers, in db: SecureDatabaseStore) throws {
        self.shape = shape
        self.db = db
        self.members = members
        clocks = try ClockTable(of: shape, members: members, in: db)
        reader = try RowReader(shape, in: db)
        columns = shape.groups.flatMap { $0 }
        columnNames = Dictionary(columns.map { ($0.sqlNameKey, $0) }) { first, _ in first }
        condition = shape.key.map { "\($0.sqlName) = ?" }.joined(separator: " AND ")
        let (all, table) = (shape.key + columns, "main.\(shape.name.sqlName)")
        insertAll = try db.prepare(
            """
            INSERT INTO \(table) (\(all.map(\.sqlName).joined(separator: ", ")))
            VALUES (\(all.map { _ in "?" }.joined(separator: ", "))) ON CONFLICT DO NOTHING
            """)
        let keys = shape.keyNames
        insertClock = try db.prepare(
            """
            INSERT INTO main.\(shape.clockTable) (\(keys.joined(separator: ", ")), clock)
            VALUES (\(keys.map { _ in "?, " }.joined())?) ON CONFLICT DO NOTHING
            """)
        deleteRow = try db.prepare("DELETE FROM \(table) WHERE \(condition)")
    }

    /// Divides a change into what this file's table has and what it does not have.
    func split(_ change: RowChange) -> (known: RowChange, unknown: RowChange?) {
        var (known, unknown) = (change, change)
        (known.registers, unknown.registers) = ([], [])
        for register in change.registers {
            var (here, elsewhere) = (register, register)
            (here.columns, here.values, elsewhere.columns, elsewhere.values) = ([], [], [], [])
            for (column, value) in zip(register.columns, register.values) {
                if let name = columnNames[column.sqlNameKey] {
                    here.columns.append(name)
                    here.values.append(value)
                } else {
                    elsewhere.columns.append(column)
                    elsewhere.values.append(value)
                }
            }
            if !here.columns.isEmpty { known.registers.append(here) }
            if !elsewhere.columns.isEmpty { unknown.registers.append(elsewhere) }
        }
        return (known, unknown.registers.isEmpty ? nil : unknown)
    }

    // MARK: - States

    /// The row's state as its clock and the table have it; nil if nothing is known of the row.
    ///
    /// - Parameter isLate: Whether columns without a stamp of their own count as never written:
    ///   those that a migration has added.
    func state(of key: [SQLiteValue], isLate: Bool = false) throws -> (RowState?, isVisible: Bool) {
        let clock = try clocks.clock(of: key)
        let row = try reader.row(of: key)
        guard let row else {
            return (clock.map { RowState(life: $0.life, isAlive: $0.isAlive) }, false)
        }
        var state = RowState(life: clock?.life ?? .floor, isAlive: true)
        for column in columns {
            let own = shape.columnNumbers[column].flatMap { clock?.columns[$0] }
            let stamp = own ?? (isLate ? .floor : clock?.life ?? .floor)
            state.cells[column] = .init(value: row.columns[column] ?? .null, stamp: stamp)
        }
        return (state, true)
    }

    func setClock(_ state: RowState, of key: [SQLiteValue]) throws {
        var clock = RowClock(life: state.life, isAlive: state.isAlive)
        if let old = try clocks.clock(of: key), old.life == state.life, old.isAlive == state.isAlive
        {
            // With the stamps of columns that the table does not have any more.
            clock = old
        }
        for (column, cell) in state.cells {
            if let number = shape.columnNumbers[column] { clock[number] = cell.stamp }
        }
        try clocks.set(clock, of: key)
    }

    // MARK: - Rows

    /// Inserts a row that nothing is known of, with its clock; the usual case, in two statements.
    ///
    /// - Returns: false if something is known of it, or if it collides; nothing is changed then.
    func insertNew(_ change: RowChange) throws -> Bool {
        let life = change.life.stamp
        guard change.registers.allSatisfy({ $0.stamp == life }) else { return false }
        var values: [SQLiteValue]
        guard change.registers.count == shape.groups.count,
            zip(change.registers, shape.groups).allSatisfy({ $0.columns == $1 })
        else {
            return false
        }
        values = change.key
        for register in change.registers { values += register.values }
        let clock = try RowClock(life: life, isAlive: true).encoded(number: members.number(of:))
        try insertClock.executeUpdate(values: change.key + [.blob(clock.asData)])
        guard try db.changedRowCount() == 1 else { return false }
        let isInserted: Bool
        do {
            try insertAll.executeUpdate(values: values)
            isInserted = try db.changedRowCount() == 1
        } catch let error as SecureStorageError where error.isConstraint {
            isInserted = false
        }
        if !isInserted { try clocks.remove(change.key) }
        return isInserted
    }

    /// Inserts a row; false if a constraint refuses it.
    func insert(_ key: [SQLiteValue], _ state: RowState) throws -> Bool {
        let given = columns.filter { state.cells[$0] != nil }
        do {
            try db.executeUpdate(
                """
                INSERT INTO \(name) (\((shape.key + given).map(\.sqlName).joined(separator: ", ")))
                VALUES (\((shape.key + given).map { _ in "?" }.joined(separator: ", ")))
                """, values: key + given.map { state.cells[$0]?.value ?? .null })
            return true
        } catch let error as SecureStorageError where error.isConstraint {
            return false
        }
    }

    /// Sets columns of a row; false if a constraint refuses it.
    func update(_ key: [SQLiteValue], _ values: [(column: String, value: SQLiteValue)]) throws
        -> Bool
    {
        let names = values.map(\.column)
        let statement =
            try updates[names]
            ?? db.prepare(
                """
                UPDATE \(name) SET \(names.map { "\($0.sqlName) = ?" }.joined(separator: ", "))
                WHERE \(condition)
                """)
        updates[names] = statement
        do {
            try statement.executeUpdate(values: values.map(\.value) + key)
            return true
        } catch let error as SecureStorageError where error.isConstraint {
            return false
        }
    }

    func delete(_ key: [SQLiteValue]) throws { try deleteRow.executeUpdate(values: key) }

    /// The keys of the rows whose columns have these values, as the columns' collations compare.
    func keys(where columns: [String], equal values: [SQLiteValue]) throws -> [[SQLiteValue]] {
        let rows = try db.executeQuery(
            """
            SELECT \(shape.key.map(\.sqlName).joined(separator: ", ")) FROM \(name)
            WHERE \(columns.map { "\($0.sqlName) = ?" }.joined(separator: " AND "))
            """, values: values)
        defer { rows.close() }
        var keys: [[SQLiteValue]] = []
        while try rows.next() {
            keys.append(try shape.key.indices.map { try rows.sqliteValue(at: $0) })
        }
        return keys
    }

    /// The value of a column of the key or of another one.
    func value(_ column: String, _ key: [SQLiteValue], _ state: RowState) -> SQLiteValue {
        if let index = shape.key.firstIndex(where: { $0.isSameName(as: column) }) {
            return key[index]
        }
        return columnNames[column.sqlNameKey].flatMap { state.cells[$0]?.value } ?? .null
    }
}

extension SecureStorageError {
    /// Whether a constraint has refused a statement.
    fileprivate var isConstraint: Bool { resultCode?.primary == .constraint }
}
