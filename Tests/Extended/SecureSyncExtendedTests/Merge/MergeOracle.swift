import SecureStorage
import SecureSync
@testable import SecureSyncTests

/// What is visible and what is held back after a set of changes, computed from all of them at once,
/// by the definitions and without a file.
struct MergeOracle: Sendable {
    struct Table: Sendable {
        var name: String
        var uniques: [[String]] = []
        /// Columns in which the case of letters does not count.
        var caseless: Set<String> = []
        /// Columns here, the parent, columns there.
        var references: [(columns: [String], parent: String, parentColumns: [String])] = []
        var key: String
        var isRefused: @Sendable ([String: SQLiteValue]) -> Bool = { _ in false }
    }

    struct Row: Equatable {
        var values: [String: SQLiteValue]
        var standing: Standing
    }

    struct Name: Hashable {
        var table: String
        var key: RowKey
    }

    private struct Merged {
        var born: Timestamp
        var values: [String: SQLiteValue]
    }

    let tables: [Table]

    /// All rows that are alive.
    func rows(after changes: [RowChange]) -> [Name: Row] {
        var histories: [Name: [RowChange]] = [:]
        for change in changes {
            histories[Name(table: change.table, key: RowKey(change.key)), default: []]
                .append(change)
        }
        var alive: [Name: Merged] = [:]
        for (name, history) in histories {
            guard let incarnation = history.map(\.incarnation.timestamp).max() else { continue }
            let last = history.filter { $0.incarnation.timestamp == incarnation }
            guard last.allSatisfy(\.incarnation.isAlive), let table = table(name) else { continue }
            var best: [String: (Timestamp, SQLiteValue)] = [:]
            for columnGroup in last.flatMap(\.columnGroups) {
                for (column, value) in zip(columnGroup.columns, columnGroup.values)
                where best[column].map({ $0.0 < columnGroup.timestamp }) ?? true {
                    best[column] = (columnGroup.timestamp, value)
                }
            }
            var values = best.mapValues(\.1)
            values[table.key] = history[0].key[0]
            alive[name] = Merged(born: incarnation, values: values)
        }
        let refused = alive.filter { table($0.key)?.isRefused($0.value.values) ?? false }
        let sound = supported(alive.filter { refused[$0.key] == nil })
        var winners: [Name: Merged] = [:]
        for (name, row) in sound.sorted(by: { rank($0) < rank($1) })
        where !winners.contains(where: { collide((name, row), ($0.key, $0.value)) }) {
            winners[name] = row
        }
        let visible = supported(winners)
        return Dictionary(
            uniqueKeysWithValues: alive.map { name, row in
                let standing: Standing =
                    visible[name] != nil
                    ? .visible
                    : winners[name] != nil
                        ? .waiting
                        : sound[name] != nil
                            ? .duplicate : refused[name] != nil ? .refused : .orphan
                return (name, Row(values: row.values, standing: standing))
            })
    }

    private func table(_ name: Name) -> Table? { tables.first { $0.name == name.table } }

    private func rank(_ row: (key: Name, value: Merged)) -> (Timestamp, RowKey) {
        (row.value.born, row.key.key)
    }

    private func collide(_ left: (Name, Merged), _ right: (Name, Merged)) -> Bool {
        guard left.0.table == right.0.table, let table = table(left.0) else { return false }
        return table.uniques.contains { unique in
            unique.allSatisfy { column in
                let (one, other) = (left.1.values[column], right.1.values[column])
                guard let one, let other, one != .null, other != .null else { return false }
                if table.caseless.contains(column), case .text(let one) = one,
                    case .text(let other) = other
                {
                    return one.lowercased() == other.lowercased()
                }
                return one == other
            }
        }
    }

    /// The greatest subset that contains every row to which its rows refer.
    private func supported(_ rows: [Name: Merged]) -> [Name: Merged] {
        var rows = rows
        while true {
            let left = rows.filter { name, row in
                (table(name)?.references ?? []).allSatisfy { reference in
                    let values = reference.columns.map { row.values[$0] ?? .null }
                    if values.contains(.null) { return true }
                    return rows.contains { other, parent in
                        other.table == reference.parent
                            && reference.parentColumns.map { parent.values[$0] ?? .null } == values
                    }
                }
            }
            if left.count == rows.count { return rows }
            rows = left
        }
    }
}
