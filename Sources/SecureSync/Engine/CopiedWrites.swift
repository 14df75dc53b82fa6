internal import Foundation
internal import SecureStorage

/// What the file from which this one was copied has sent of the writes that both have.
///
/// A file that was put back or copied may have unsent writes. Those that were there before, the
/// other file has sent since: the group knows them, and what others have made of them. Sent again,
/// they would seem to be new, as soon as the stable point covers them.
struct CopiedWrites {
    private var rows: [RowPlace: Sent] = [:]
    /// Where the store has those batches no more: until when they say what was written, in
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
        // An edit whose row's incarnation the stable point covers does not say when that began.
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

    /// What of an own change only this file has, and what of it may be lost: all else was sent.
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
        // Begun after the copying, without knowing the row that the other file has edited or ended;
        // also if it was edited since.
        if change.incarnation.timestamp.time > sent.incarnation { return (change, nil) }
        var (own, lost) = (change, change)
        lost.columnGroups = []
        guard sent.isAlive else {
            // The row has ended: what was written here since is no row of its own.
            lost.columnGroups = change.columnGroups.filter { $0.timestamp.time > sent.incarnation }
            return (nil, lost.columnGroups.isEmpty ? nil : lost)
        }
        own.columnGroups = change.columnGroups.compactMap { columnGroup in
            var (isSent, isSame, columnGroup) = (true, true, columnGroup)
            for (column, value) in zip(columnGroup.columns, columnGroup.values) {
                guard let (time, sentValue) = sent.columns[column.sqlNameKey] else {
                    // A migration has added the column since, to a row that was sent.
                    guard columnGroup.timestamp.time <= sent.incarnation else { return columnGroup }
                    continue
                }
                guard columnGroup.timestamp.time <= time else { return columnGroup }
                let isEqual = value.isIdentical(to: sentValue)
                isSame = isSame && isEqual
                isSent = isSent && (columnGroup.timestamp.time < time || isEqual)
            }
            // By a clock that is behind, what was written here later may seem to be older.
            if isSent, !isSame { lost.columnGroups.append(columnGroup) }
            // By a clock that is behind, a write after the copying has the time of one before it.
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
    /// Reads what the other file has sent next.
    ///
    /// - Parameters:
    ///   - store: The group's.
    ///   - keys: The group's.
    ///   - sent: The last batch that this file has sent.
    ///   - sealed: The number of the last batch that it has sealed: the writes after that one are
    ///     in the next transaction.
    ///   - snapshot: The one that is to be loaded.
    /// - Throws: The store's errors.
    init(
        _ store: any SyncObjectStore, _ keys: GroupKeys, after sent: BatchPosition, sealed: UInt64,
        _ snapshot: AdoptedSnapshot
    ) async throws {
        var (number, isLast) = (sent.number, false)
        let log = MemberLog(store: store, keys: keys, member: sent.member)
        while number <= sealed || !isLast {
            number += 1
            guard case .batch(let bytes, let name) = try await log.read(number),
                let (_, body) = try? LogReader.open(bytes, name, keys, after: nil)
            else {
                // Snapshots have the times of some of the batches that they contain.
                let lowerBounds = snapshot.manifest.logs[sent.member]?.lowerBounds ?? []
                time = lowerBounds.first { $0.number >= number }?.time ?? 0
                return
            }
            body.changes.forEach { add($0) }
            isLast = body.isLast
        }
    }
}
