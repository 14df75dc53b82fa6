internal import Foundation
internal import SecureStorage

/// What the file from which this one was copied has sent of the writes that both have.
///
/// A file that was put back or copied may have unsent writes. Those that were there before, the
/// other file has sent since: the group knows them, and what others have made of them. Sent again,
/// they would seem to be new, as soon as the floor covers them.
struct CopiedWrites {
    private var rows: [RowPlace: Sent] = [:]
    /// Where the store has those batches no more: until when they say what was written, in
    /// milliseconds since 1970.
    private var time: UInt64 = 0
    private struct Sent {
        var life: UInt64 = 0
        var isAlive = true
        var columns: [String: (time: UInt64, value: SQLiteValue)] = [:]
    }

    /// Nothing.
    init() {}

    private mutating func add(_ change: RowChange) {
        var sent = rows[RowPlace(change)] ?? Sent()
        // An edit whose row's life the floor covers does not say when that began.
        (sent.life, sent.isAlive) = (
            max(sent.life, change.life.timestamp.time), change.life.isAlive
        )
        for register in change.registers {
            for (column, value) in zip(register.columns, register.values) {
                sent.columns[column.sqlNameKey] = (register.timestamp.time, value)
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
        guard change.life.isAlive else {
            return (change.life.timestamp.time > sent.life ? change : nil, nil)
        }
        // Begun after the copying, without knowing the row that the other file has edited or ended;
        // also if it was edited since.
        if change.life.timestamp.time > sent.life { return (change, nil) }
        var (own, lost) = (change, change)
        lost.registers = []
        guard sent.isAlive else {
            // The row has ended: what was written here since is no row of its own.
            lost.registers = change.registers.filter { $0.timestamp.time > sent.life }
            return (nil, lost.registers.isEmpty ? nil : lost)
        }
        own.registers = change.registers.compactMap { register in
            var (isSent, isSame, register) = (true, true, register)
            for (column, value) in zip(register.columns, register.values) {
                guard let (time, sentValue) = sent.columns[column.sqlNameKey] else {
                    // A migration has added the column since, to a row that was sent.
                    guard register.timestamp.time <= sent.life else { return register }
                    continue
                }
                guard register.timestamp.time <= time else { return register }
                let isEqual = value.isIdentical(to: sentValue)
                isSame = isSame && isEqual
                isSent = isSent && (register.timestamp.time < time || isEqual)
            }
            // By a clock that is behind, what was written here later may seem to be older.
            if isSent, !isSame { lost.registers.append(register) }
            // By a clock that is behind, a write after the copying has the time of one before it.
            if !isSent { register.timestamp.time += 1 }
            return isSent ? nil : register
        }
        if sent.isAlive, sent.life >= change.life.timestamp.time {
            // An edit of the row that was sent.
            for index in own.registers.indices {
                own.registers[index].known = own.registers[index].known ?? change.life.timestamp
            }
        }
        return (own.registers.isEmpty ? nil : own, lost.registers.isEmpty ? nil : lost)
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
        _ store: any SyncObjectStore, _ keys: GroupKeys, after sent: LogHead, sealed: UInt64,
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
                let promises = snapshot.manifest.logs[sent.member]?.promises ?? []
                time = promises.first { $0.number >= number }?.time ?? 0
                return
            }
            body.changes.forEach { add($0) }
            isLast = body.isLast
        }
    }
}
