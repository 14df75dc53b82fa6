internal import Foundation
internal import ObjectStores
internal import SecureStorage

/// Writes that a copied file shares with its original, and that the original has sent.
///
/// A restored or copied file may have unsent writes. The original has since sent those made before
/// the copy: the group has them, and later changes by others. Sent again, they would look new once
/// the stable point covers them.
struct CopiedWrites {
    private var rows: [RowPlace: Sent] = [:]
    /// If those batches are gone from the store: the time up to which they cover writes, in
    /// milliseconds since 1970.
    private var time: UInt64 = 0
    private struct Sent {
        var incarnation: UInt64 = 0
        var isAlive = true
        var columns: [String: (time: UInt64, value: SQLiteValue)] = [:]
    }

    /// Nothing.
    init() {}

    private mutating func add(_ change: RowChange) {
        var sent = rows[RowPlace(change)] ?? Sent()
        // An edit of an incarnation below the stable point does not say when that incarnation
        // began.
        (sent.incarnation, sent.isAlive) = (
            max(sent.incarnation, change.incarnation.timestamp.time), change.incarnation.isAlive
        )
        for columnGroup in change.columnGroups {
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                sent.columns[column.sqlNameKey] = (columnGroup.timestamp.time, value)
            }
        }
        rows[RowPlace(change)] = sent
    }

    /// Splits an own change: the part that only this file has, and the part that may be lost.
    ///
    /// The rest was sent.
    func split(_ change: RowChange) -> (own: RowChange?, lost: RowChange?) {
        guard let sent = rows[RowPlace(change)] else {
            guard time > 0, !OwnRows.isInsertion(change),
                change.greatestTimestamp.milliseconds <= time
            else { return (change, nil) }
            return (nil, change)
        }
        guard change.incarnation.isAlive else {
            return (change.incarnation.timestamp.time > sent.incarnation ? change : nil, nil)
        }
        // Inserted after the copy, without knowing that the other file edited or deleted the row.
        if change.incarnation.timestamp.time > sent.incarnation { return (change, nil) }
        var (own, lost) = (change, change)
        lost.columnGroups = []
        guard sent.isAlive else {
            // The row is deleted: later writes here do not make a row.
            lost.columnGroups = change.columnGroups.filter { $0.timestamp.time > sent.incarnation }
            return (nil, lost.columnGroups.isEmpty ? nil : lost)
        }
        own.columnGroups = change.columnGroups.compactMap { columnGroup in
            var (isSent, isSame, columnGroup) = (true, true, columnGroup)
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                guard let (time, sentValue) = sent.columns[column.sqlNameKey] else {
                    // A migration added the column after the row was sent.
                    guard columnGroup.timestamp.time <= sent.incarnation else { return columnGroup }
                    continue
                }
                guard columnGroup.timestamp.time <= time else { return columnGroup }
                let isEqual = value.isIdentical(to: sentValue)
                isSame = isSame && isEqual
                isSent = isSent && (columnGroup.timestamp.time < time || isEqual)
            }
            // If the clock is behind, a later write here may seem older.
            if isSent, !isSame { lost.columnGroups.append(columnGroup) }
            // If the clock is behind, a write after the copy may have the time of one before it.
            if !isSent { columnGroup.timestamp.time += 1 }
            return isSent ? nil : columnGroup
        }
        if sent.isAlive, sent.incarnation >= change.incarnation.timestamp.time {
            // An edit of the row that was sent.
            for index in own.columnGroups.indices {
                own.columnGroups[index].known =
                    own.columnGroups[index].known ?? change.incarnation.timestamp
            }
        }
        return (own.columnGroups.isEmpty ? nil : own, lost.columnGroups.isEmpty ? nil : lost)
    }
}

extension CopiedWrites {
    /// Reads the next batches that the other file has sent.
    ///
    /// - Parameters:
    ///   - store: The group's.
    ///   - keys: The group's.
    ///   - sent: The last batch that this file sent.
    ///   - sealed: The number of the last batch that it sealed: later writes are in the next
    ///     transaction.
    ///   - snapshot: The snapshot to load.
    /// - Throws: The store's errors.
    init(
        _ store: any ObjectStore, _ keys: GroupKeys, after sent: BatchPosition, sealed: UInt64,
        _ snapshot: AdoptedSnapshot
    ) async throws {
        var (number, isLast) = (sent.number, false)
        let log = MemberLog(store: store, keys: keys, member: sent.member)
        while number <= sealed || !isLast {
            number += 1
            guard case .batch(let bytes, let name) = try await log.read(number),
                let (_, body) = try? LogReader.open(bytes, name, keys, after: nil)
            else {
                // Snapshots keep the times of some of their batches.
                let lowerBounds = snapshot.manifest.logs[sent.member]?.lowerBounds ?? []
                time = lowerBounds.first { $0.number >= number }?.time ?? 0
                return
            }
            body.changes.forEach { add($0) }
            isLast = body.isLast
        }
    }
}
