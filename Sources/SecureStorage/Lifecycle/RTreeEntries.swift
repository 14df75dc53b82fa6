internal import Foundation

/// An R-tree that lost pages, rebuilt from the entries that its nodes still hold.
///
/// A node is a list of entries of 8 bytes for the id, and 4 for each coordinate. The entries of
/// leaves are the table's rows; any other columns are in the table of row ids. The layout is at the
/// end of [SQLite's description](https://sqlite.org/rtree.html).
struct RTreeEntries {
    let name: String
    let sql: String
    let target: Connection
    private let coordinateCount: Int
    private let auxiliaryCount: Int
    private let isInteger: Bool

    private struct Entry {
        let id: Int64
        let values: [StoredValue]
    }

    init(of table: SalvagedVirtualTable, on target: Connection) {
        (name, sql, self.target) = (table.name, table.sql, target)
        auxiliaryCount = table.arguments.filter { $0.hasPrefix("+") }.count
        coordinateCount = table.arguments.count - 1 - auxiliaryCount
        isInteger = table.module == "rtree_i32"
    }

    /// Replaces the tables of the damaged R-tree, while they are still plain tables, with a new
    /// R-tree.
    ///
    /// - Returns: The number of its entries.
    /// - Throws: `.backingStoreError`, code `.corrupt` if the nodes cannot be read.
    func makeAgain() throws -> Int {
        let entries = try entries()
        for table in ["node", "parent", "rowid"] {
            try target.run("DROP TABLE IF EXISTS main.\(own(table))")
        }
        try target.run(sql)
        let places = [String](repeating: "?", count: 1 + coordinateCount + auxiliaryCount)
        let insert = try Statement(
            "INSERT INTO \(SQLText.main(name)) VALUES (\(places.joined(separator: ", ")))",
            on: target, persistent: false)
        defer { insert.giveBack() }
        for entry in entries {
            try insert.bind(stored: [.integer(entry.id)] + entry.values, .utf8)
            try insert.run()
            insert.rewind()
        }
        return entries.count
    }

    private func own(_ part: String) -> String { SQLText.identifier("\(name)_\(part)") }

    private func entries() throws -> [Entry] {
        let nodes = try nodes()
        let auxiliaries = try auxiliaries()
        let leaves = try leaves(nodes, rowIDs: auxiliaries)
        var entries: [Int64: Entry] = [:]
        for number in leaves {
            for (id, coordinates) in cells(of: nodes[number] ?? []) {
                // Lost columns are not made up.
                guard let others = auxiliaries[id]?.values ?? (auxiliaryCount == 0 ? [] : nil)
                else { continue }
                entries[id] = Entry(id: id, values: coordinates.map(value) + others)
            }
        }
        return entries.values.sorted { $0.id < $1.id }
    }

    private func value(_ bits: UInt32) -> StoredValue {
        isInteger
            ? .integer(Int64(Int32(bitPattern: bits)))
            : .real(Double(Float(bitPattern: bits)))
    }

    private func nodes() throws -> [Int64: [UInt8]] {
        let rows = try Statement(
            "SELECT nodeno, data FROM main.\(own("node"))", on: target, persistent: false)
        defer { rows.giveBack() }
        var nodes: [Int64: [UInt8]] = [:]
        while try rows.step() {
            nodes[rows.column(0).integer] = [UInt8](rows.column(1).data)
        }
        return nodes
    }

    /// Returns the node and the columns other than coordinates, by id.
    private func auxiliaries() throws -> [Int64: (node: Int64, values: [StoredValue])] {
        let names = ["rowid", "nodeno"] + (0..<auxiliaryCount).map { "a\($0)" }
        let rows = try Statement(
            "SELECT \(names.joined(separator: ", ")) FROM main.\(own("rowid"))", on: target,
            persistent: false)
        defer { rows.giveBack() }
        var found: [Int64: (node: Int64, values: [StoredValue])] = [:]
        while try rows.step() {
            let values = (0..<auxiliaryCount).map { Self.value(rows, at: 2 + $0) }
            found[rows.column(0).integer] = (rows.column(1).integer, values)
        }
        return found
    }

    private static func value(_ rows: Statement, at index: Int) -> StoredValue {
        let column = rows.column(index)
        return switch column.storageClass {
        case .integer: .integer(column.integer)
        case .real: .real(column.real)
        case .text: .text([UInt8](column.data)[...])
        case .blob: .blob([UInt8](column.data)[...])
        default: .null
        }
    }

    /// Returns the nodes whose entries are rows: found down from the root, and named by the row
    /// ids.
    private func leaves(
        _ nodes: [Int64: [UInt8]], rowIDs: [Int64: (node: Int64, values: [StoredValue])]
    ) throws -> Set<Int64> {
        var leaves = Set(rowIDs.values.map(\.node))
        var inner: Set<Int64> = []
        func visit(_ number: Int64, depth: Int) {
            guard let node = nodes[number] else { return }
            guard depth > 0 else {
                leaves.insert(number)
                return
            }
            guard inner.insert(number).inserted else { return }
            for cell in cells(of: node) { visit(cell.id, depth: depth - 1) }
        }
        if let root = nodes[1], root.count >= 4 {
            // SQLite's own limit is 40.
            visit(1, depth: min(Int(root[0]) << 8 | Int(root[1]), 40))
        }
        let parents = try target.texts("SELECT parentnode FROM main.\(own("parent"))")
        inner.formUnion(parents.compactMap { Int64($0) })
        guard nodes.keys.allSatisfy({ leaves.contains($0) || inner.contains($0) }) else {
            throw SecureStorageError.statementFailed(
                .corrupt, "leaf nodes cannot be distinguished from inner nodes")
        }
        return leaves.subtracting(inner).intersection(nodes.keys)
    }

    private func cells(of node: [UInt8]) -> [(id: Int64, coordinates: [UInt32])] {
        guard node.count >= 4, coordinateCount > 0 else { return [] }
        func number(_ offset: Int, _ count: Int) -> UInt64 {
            node[offset..<(offset + count)].reduce(0) { $0 << 8 | UInt64($1) }
        }
        let size = 8 + 4 * coordinateCount
        let count = min(Int(number(2, 2)), (node.count - 4) / size)
        return (0..<count).map { index in
            let start = 4 + index * size
            return (
                Int64(bitPattern: number(start, 8)),
                (0..<coordinateCount).map { UInt32(number(start + 8 + 4 * $0, 4)) }
            )
        }
    }
}
