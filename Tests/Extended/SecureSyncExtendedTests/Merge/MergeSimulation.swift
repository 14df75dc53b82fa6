import SecureStorage
import SecureSync
import TestSupport
import Testing
@testable import SecureSyncTests

/// Members with a file each, whose transactions reach the others in some causal order.
final class MergeSimulation {
    static let schema = """
        CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, name TEXT COLLATE NOCASE UNIQUE, size INTEGER);
        CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL,
            folder TEXT REFERENCES folder (id) ON DELETE CASCADE, title TEXT, slug TEXT UNIQUE,
            UNIQUE (folder, title));
        CREATE TABLE item (id TEXT PRIMARY KEY NOT NULL, note TEXT REFERENCES note (id),
            peer TEXT REFERENCES item (id) ON DELETE CASCADE, low INTEGER, high INTEGER,
            place TEXT UNIQUE, CHECK (low <= high));
        CREATE TABLE tag (id TEXT PRIMARY KEY NOT NULL,
            slug TEXT REFERENCES note (slug) ON UPDATE CASCADE ON DELETE CASCADE);
        """

    static let oracle = MergeOracle(tables: [
        .init(name: "folder", uniques: [["name"]], caseless: ["name"], key: "id"),
        .init(
            name: "note", uniques: [["folder", "title"], ["slug"]],
            references: [(["folder"], "folder", ["id"])], key: "id"),
        .init(
            name: "item", uniques: [["place"]],
            references: [(["note"], "note", ["id"]), (["peer"], "item", ["id"])], key: "id",
            isRefused: {
                guard case .integer(let low)? = $0["low"], case .integer(let high)? = $0["high"]
                else { return false }
                return low > high
            }),
        .init(name: "tag", references: [(["slug"], "note", ["slug"])], key: "id"),
    ])

    /// Children first, so that they often arrive before what they refer to.
    static func declare(_ tables: inout SyncedTables) {
        for table in ["tag", "item", "note", "folder"] { tables.add(table) }
    }

    struct Transaction {
        var changes: [RowChange]
        /// How many of each member its writer had applied.
        var known: [Int]
    }

    private(set) var files: [CapturedFile] = []
    private(set) var logs: [[Transaction]]
    /// How many transactions of each member each has applied.
    private(set) var applied: [[Int]]

    init(members: Int, clockOffsets: [Int64]) throws {
        logs = Array(repeating: [], count: members)
        applied = Array(repeating: Array(repeating: 0, count: members), count: members)
        for number in 0..<members {
            files.append(
                try CapturedFile(
                    Self.schema, member: .numbered(UInt8(number + 1)),
                    clockOffset: clockOffsets[number], declare: Self.declare))
        }
    }

    /// Runs statements, each of which may be refused, and publishes what they changed; before it,
    /// the engine may start again.
    func write(_ member: Int, _ statements: [String], restarting: Bool = false) throws {
        let file = files[member]
        try file.write {
            try file.db.executeStatements("PRAGMA defer_foreign_keys = OFF")
            for sql in statements {
                do { try file.run(sql) } catch let error as SecureStorageError
                    where error.isConstraintViolation
                {}
            }
        }
        if restarting { try file.restart() }
        try publish(member)
    }

    private func publish(_ member: Int) throws {
        let file = files[member]
        let changes = try file.write { try file.capture.timestampAndSettle(in: file.db) }
        guard !changes.isEmpty else { return }
        logs[member].append(Transaction(changes: changes, known: applied[member]))
        applied[member][member] += 1
    }

    /// The members whose next transaction may be delivered.
    func senders(to member: Int) -> [Int] {
        logs.indices.filter { sender in
            let next = applied[member][sender]
            guard sender != member, next < logs[sender].count else { return false }
            return zip(logs[sender][next].known, applied[member]).enumerated().allSatisfy {
                $0.offset == sender || $0.element.0 <= $0.element.1
            }
        }
    }

    func deliver(from sender: Int, to member: Int) throws {
        let file = files[member]
        let transaction = logs[sender][applied[member][sender]]
        try file.write { _ = try file.capture.apply(transaction.changes, in: file.db) }
        applied[member][sender] += 1
    }

    func deliverAll(choose: (Int) -> Int) throws {
        while true {
            let ways = files.indices.flatMap { member in
                senders(to: member).map { ($0, member) }
            }
            guard !ways.isEmpty else { return }
            let (sender, member) = ways[choose(ways.count)]
            try deliver(from: sender, to: member)
        }
    }

    // MARK: - Looking

    func changes(knownTo member: Int) -> [RowChange] {
        logs.indices.flatMap { logs[$0].prefix(applied[member][$0]).flatMap(\.changes) }
    }

    /// What a file has, in the oracle's words.
    static func rows(of file: CapturedFile) throws -> [MergeOracle.Name: MergeOracle.Row] {
        var rows: [MergeOracle.Name: MergeOracle.Row] = [:]
        for shape in try file.capture.shapes(in: file.db) {
            let found = try file.db.executeQuery("SELECT * FROM \(shape.name)")
            defer { found.close() }
            while try found.next() {
                var values: [String: SQLiteValue] = [:]
                for column in shape.columns {
                    values[column] = try found.value(forColumnName: column) ?? .null
                }
                let key = shape.key.map { values[$0] ?? .null }
                rows[.init(table: shape.name, key: RowKey(key))] = .init(
                    values: values, standing: .visible)
            }
        }
        for heldBack in try file.capture.heldBackRows(in: file.db) {
            var values = Dictionary(uniqueKeysWithValues: zip(heldBack.columns, heldBack.values))
            values["id"] = heldBack.key[0]
            let name = MergeOracle.Name(table: heldBack.table, key: RowKey(heldBack.key))
            check(rows[name] == nil, "a row is visible and held back")
            rows[name] = .init(values: values, standing: heldBack.standing)
        }
        return rows
    }

    /// Compares a member's file with the oracle; returns whether they agree.
    func look(_ member: Int, _ comment: Comment) throws -> Bool {
        try Self.look(files[member], after: changes(knownTo: member), comment)
    }

    static func look(
        _ file: CapturedFile, after changes: [RowChange], _ comment: Comment
    ) throws -> Bool {
        let broken = try file.db.strings("PRAGMA foreign_key_check")
        let expected = oracle.rows(after: changes)
        let found = try rows(of: file)
        var differences: [String] = []
        for name in Set(expected.keys).union(found.keys) where expected[name] != found[name] {
            differences.append(
                "\(name.table) \(name.key.bytes): \(describe(found[name])), not \(describe(expected[name]))"
            )
        }
        check(broken.isEmpty && differences.isEmpty, comment)
        for difference in differences.sorted().prefix(3) { print(comment, difference) }
        return broken.isEmpty && differences.isEmpty
    }

    private static func describe(_ row: MergeOracle.Row?) -> String {
        guard let row else { return "absent" }
        let values = row.values.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value.summary)" }
        return "\(row.standing) \(values.joined(separator: " "))"
    }
}
