internal import Foundation
internal import SecureStorage
internal import SecureSync

extension SyncSimulation {
    /// What a simulation finds out.
    public enum Failure: Error, Hashable {
        /// A table has other rows or columns on one device than on the other one.
        ///
        /// - table: Its name.
        /// - devices: The names of the two devices.
        /// - rows: How many rows one of the two has and the other one has not; 0 if their columns
        ///   differ.
        case differs(table: String, devices: [String], rows: Int)
        /// Devices still send something after 100 rounds.
        case doesNotSettle
        /// The device was killed in a call of the store, as ``Device/killAtCall(_:hasEffect:)``
        /// says, and has restarted.
        case killed(device: String)
        /// A device has this name already.
        case nameTaken(String)
    }

    /// Checks that the synced tables have the same rows everywhere.
    ///
    /// - Parameter devices: Those to compare; nil for all members, including offline ones.
    /// - Throws: ``Failure/differs(table:devices:rows:)`` with the first table that differs, and no
    ///   values; the errors of the database.
    public func requireEqual(_ devices: [Device]? = nil) throws {
        let devices = devices ?? self.devices.filter(\.isMember)
        guard let first = devices.first else { return }
        for declaration in tables.declarations {
            let content = try TableContent(of: declaration, on: first)
            for device in devices.dropFirst() {
                let other = try TableContent(of: declaration, on: device)
                guard let rows = content.difference(to: other) else { continue }
                throw Failure.differs(
                    table: declaration.title, devices: [first.name, device.name], rows: rows)
            }
        }
    }
}

extension SyncSimulation.Failure: CustomStringConvertible {
    /// What is wrong; names of tables and devices, and no values.
    public var description: String {
        switch self {
        case .differs(let table, let devices, 0):
            "the table \"\(table)\" has other columns on \(devices.joined(separator: " than on "))"
        case .differs(let table, let devices, let rows):
            "the table \"\(table)\" differs in \(rows) rows between "
                + devices.joined(separator: " and ")
        case .doesNotSettle: "the devices never come to rest"
        case .killed(let device): "\(device) was killed, and has restarted"
        case .nameTaken(let name): "there is a device with the name \(name); take another one"
        }
    }
}

/// The rows of a table on one device.
private struct TableContent {
    private let columns: [String]
    private let rows: [[Cell]: Int]

    init(of declaration: SyncedTables.Table, on device: SyncSimulation.Device) throws {
        (columns, rows) = try device.database.read { db -> ([String], [[Cell]: Int]) in
            let store = try declaration.keyValueStore.flatMap { try KeyValueTable.find($0, in: db) }
            let table = store?.table ?? declaration.table
            // What has expired is in some files, and nobody sees it.
            let condition =
                store == nil ? "1" : KeyValueTable.isValid("\(Date().timeIntervalSince1970)")
            // Not in the order of the declaration, which migrations may change.
            let columns = try db.columnsInOrder(of: table)
            let list = columns.map(\.sqlName).joined(separator: ", ")
            let result = try db.executeQuery(
                "SELECT \(list) FROM main.\(table.sqlName) WHERE \(condition)")
            defer { result.close() }
            var rows: [[Cell]: Int] = [:]
            while try result.next() {
                let row = try columns.indices.map { Cell(try result.sqliteValue(at: $0)) }
                rows[row, default: 0] += 1
            }
            return (columns, rows)
        }
    }

    /// How many rows are in one only; nil if there is no difference.
    func difference(to other: TableContent) -> Int? {
        guard columns.map(\.sqlNameKey) == other.columns.map(\.sqlNameKey) else { return 0 }
        let keys = Set(rows.keys).union(other.rows.keys)
        let count = keys.reduce(0) { count, key in
            count + abs(rows[key, default: 0] - other.rows[key, default: 0])
        }
        return count == 0 ? nil : count
    }
}

/// A value as SQLite stores it; texts differ if their bytes do.
private enum Cell: Hashable {
    case null
    case integer(Int64)
    case real(Double)
    case text([UInt8])
    case blob(Data)

    init(_ value: SQLiteValue) {
        self =
            switch value {
            case .null: .null
            case .integer(let number): .integer(number)
            case .real(let number): .real(number)
            case .text(let text): .text(Array(text.utf8))
            case .blob(let bytes): .blob(bytes)
            }
    }
}

extension SecureDatabaseStore {
    fileprivate func columnsInOrder(of table: String) throws -> [String] {
        let result = try executeQuery(
            "SELECT name FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY name",
            values: [table])
        defer { result.close() }
        var names: [String] = []
        while try result.next() { names.append(result.string(forColumnIndex: 0) ?? "") }
        return names
    }
}
