internal import Foundation
internal import SecureStorage

/// Compares a snapshot's rows with those of a file that adopted it.
///
/// Only its writer vouches for a snapshot's rows, and a file that loads it keeps them. A file that
/// adopted it has applied all of its batches: each row must be equal here, or have a later write.
struct SnapshotComparison: Sendable {
    private let manifest: SnapshotManifest
    private let keys: GroupKeys
    /// The file's tables, by name.
    private let tables: [String: TableShape]
    /// The time up to which the snapshot has all of a member's timestamps, in milliseconds since
    /// 1970.
    private let lowerBounds: [MemberID: UInt64]
    /// The snapshot's rows not yet found in the file.
    private var rows: [Int: Row] = [:]
    private var shapes: [[String]] = []
    private var numbers: [[String]: Int] = [:]
    /// How many rows differ from the file's, and the table of one of them.
    private(set) var (count, table) = (0, "")

    private enum Row {
        /// Not written since the stable point: the columns, and a hash of each value.
        case settled(shape: Int, [Int], table: String)
        case written(RowChange)
    }

    init(
        _ snapshot: AdoptedSnapshot, _ keys: GroupKeys, _ capture: Capture,
        in db: SecureDatabaseStore
    ) throws {
        (manifest, self.keys) = (snapshot.manifest, keys)
        tables = Dictionary(
            try capture.shapes(in: db).map { ($0.name.sqlNameKey, $0) }, uniquingKeysWith: { $1 })
        let journal = SyncJournal(db)
        let written = manifest.declaration.positions.filter { keys.writesAlone($0.key) }
        lowerBounds = Dictionary(
            uniqueKeysWithValues: try written.map {
                ($0.key, try journal.lowerBound(of: $0.key, $0.value))
            })
    }

    /// Takes rows of the snapshot.
    mutating func add(_ changes: [RowChange]) {
        let stablePoint = manifest.declaration.stablePoint
        for change in changes {
            // The file has no rows of a table that this version of the app does not sync.
            guard let table = tables[change.table.sqlNameKey] else { continue }
            let change = table.renamed(stablePoint.reduced(change))
            // All members know the deletion, and its tombstone is gone.
            guard change.incarnation.isAlive || change.incarnation.timestamp > .stablePoint else {
                continue
            }
            if Self.mayExpire(change) { continue }
            rows[Self.hash(of: RowPlace(change))] =
                change.greatestTimestamp == .stablePoint ? settled(change) : .written(change)
        }
    }

    private mutating func settled(_ change: RowChange) -> Row {
        let columns = change.columnGroups.flatMap { $0.columns.map(\.sqlNameKey) }
        let shape = numbers[columns] ?? shapes.count
        if shape == shapes.count {
            shapes.append(columns)
            numbers[columns] = shape
        }
        return .settled(
            shape: shape, change.columnGroups.flatMap { $0.values.map(Self.hash) },
            table: change.table)
    }

    /// Compares the added rows with the file's, none of which may wait for a timestamp.
    mutating func compare(_ capture: Capture, in db: SecureDatabaseStore) throws {
        let stablePoint = manifest.declaration.stablePoint
        try capture.eachRow(in: db) { change in
            let own = stablePoint.reduced(change)
            switch rows.removeValue(forKey: Self.hash(of: RowPlace(own))) {
            case nil:
                if own.incarnation.isAlive, isContained(own.incarnation.timestamp),
                    !Self.mayExpire(own)
                {
                    note(own.table)
                }
            case .settled(let shape, let hashes, let table):
                // Later writes have a timestamp.
                guard own.incarnation.timestamp == .stablePoint else { return }
                if !own.incarnation.isAlive || differs(own, shapes[shape], hashes) { note(table) }
            case .written(let theirs): if isOther(own, than: theirs) { note(own.table) }
            }
        }
        for row in rows.values {
            switch row {
            case .settled(_, _, let table): note(table)
            case .written(let change): if change.incarnation.isAlive { note(change.table) }
            }
        }
        rows = [:]
    }

    /// Whether it is a value that each file removes at its own time.
    private static func mayExpire(_ change: RowChange) -> Bool {
        guard KeyValueStoreName.store(ofTable: change.table) != nil else { return false }
        return change.columnGroups.contains { columnGroup in
            zip(columnGroup.columns, columnGroup.values).contains { $0 == "expires" && $1 != .null }
        }
    }

    private func isContained(_ timestamp: Timestamp) -> Bool {
        timestamp == .stablePoint || timestamp.milliseconds <= lowerBounds[timestamp.member] ?? 0
    }

    private func differs(_ own: RowChange, _ columns: [String], _ hashes: [Int]) -> Bool {
        var settled: [String: SQLiteValue] = [:]
        for columnGroup in own.columnGroups where columnGroup.timestamp == .stablePoint {
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                settled[column.sqlNameKey] = value
            }
        }
        return zip(columns, hashes).contains { column, hash in
            settled[column].map { Self.hash($0) != hash } ?? false
        }
    }

    private mutating func note(_ table: String) {
        count += 1
        self.table = table
    }

    /// Whether a row is neither the snapshot's nor a later one.
    private func isOther(_ own: RowChange, than theirs: RowChange) -> Bool {
        guard own.incarnation.timestamp == theirs.incarnation.timestamp else {
            return own.incarnation.timestamp < theirs.incarnation.timestamp
        }
        guard own.incarnation.isAlive, theirs.incarnation.isAlive else {
            return own.incarnation.isAlive != theirs.incarnation.isAlive
        }
        var known: [String: (timestamp: Timestamp, value: SQLiteValue)] = [:]
        for columnGroup in own.columnGroups {
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                known[column.sqlNameKey] = (columnGroup.timestamp, value)
            }
        }
        return theirs.columnGroups.contains { columnGroup in
            zip(columnGroup.columns, columnGroup.values).contains { column, value in
                guard let (timestamp, ownValue) = known[column.sqlNameKey] else { return false }
                guard timestamp == columnGroup.timestamp else {
                    return timestamp < columnGroup.timestamp
                }
                return !ownValue.isIdentical(to: value)
                    && !(keys.hasCopy(timestamp.member) && ownValue.isAfter(value))
            }
        }
    }

    private static func hash(of place: RowPlace) -> Int {
        var hasher = Hasher()
        hasher.combine(place)
        return hasher.finalize()
    }

    private static func hash(_ value: SQLiteValue) -> Int {
        var hasher = Hasher()
        switch value {
        case .null: hasher.combine(0)
        case .integer(let number): hasher.combine(number)
        case .real(let number): hasher.combine(number.bitPattern)
        case .text(let text): hasher.combine(ExactName(text: text))
        case .blob(let bytes): hasher.combine(bytes)
        }
        return hasher.finalize()
    }
}
