internal import Foundation
internal import SecureStorage

// How a file goes on in the group that follows its own, in one transaction.

/// A file that enters the group which follows its own, and whose log has to begin there.
struct SuccessionEntering {
    let keys: GroupKeys
    /// Those of the group before.
    let former: GroupKeys
    let capture: Capture

    /// Keeps what only this file may have for the beginning of its log; in a write transaction.
    func enter(_ chain: [Data], in db: SecureDatabaseStore) throws {
        let journal = SyncJournal(db)
        guard var place = try journal.place() else { throw SyncError.notAMember }
        var own = try journal.takePending()
        own += try journal.outgoingChanges(former)
        // A reader loads what the group has.
        if !keys.isReader, place.entered > 0 || place.former != nil {
            // It was a member, and its rows are more than what it has written.
            _ = try capture.timestampAndSettle(in: db)
            own += try capture.clockedRows(in: db).map(\.withKnownBirth)
        }
        try journal.goOn()
        try journal.setChain(chain)
        (place.group, place.member, place.former) = (keys.group, keys.member, nil)
        (place.entered, place.published) = (0, 0)
        try capture.setMember(keys.member, isReader: keys.isReader, in: db)
        try journal.setPlace(place)
        try journal.addPending(own)
    }
}

extension RowChange {
    /// A row that others know: who has edited it since its birth knew that.
    fileprivate var withKnownBirth: RowChange {
        var change = self
        for index in columnGroups.indices
        where columnGroups[index].timestamp > incarnation.timestamp {
            change.columnGroups[index].known =
                incarnation.timestamp > .stablePoint ? incarnation.timestamp : nil
        }
        return change
    }
}

extension SnapshotLoading {
    /// Joins a snapshot of the group that follows the file's with the rows of the file, whose log
    /// begins there with what the snapshot lacks; in a write transaction.
    func follow(
        _ snapshot: AdoptedSnapshot, _ files: [URL], _ chain: [Data], in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard var place = try journal.place() else { throw SyncError.notAMember }
        _ = try capture.timestampAndSettle(in: db)
        // What of this member's own writes the snapshot's writer did not know, and lost, is news.
        let known = try journal.lowerBound(
            of: place.member, journal.acknowledgement(by: [snapshot.writer], of: place.member))
        let pending = try journal.takePending()
        try journal.goOn()
        try journal.setChain(chain)
        (place.group, place.entered) = (keys.group, snapshot.number)
        place.published = 0
        try journal.setPlace(place)
        try journal.joinLogs(of: snapshot.manifest)
        let stablePoint = snapshot.manifest.declaration.stablePoint
        try capture.forget(through: stablePoint, in: db)
        var rest = ChangedRows(try capture.clockedRows(in: db).map(stablePoint.reduced))
        let last = Timestamp.time(milliseconds: known) | 0xffff
        try read(snapshot, files, in: db) { changes in
            for change in changes { rest.remove(change) }
            _ = try capture.apply(changes, in: db) {
                $0.timestamp.member == place.member && $0.timestamp.time > last
            }
        }
        try journal.setAdopted(snapshot)
        try journal.addPending(pending)
        let changes = rest.changes
        guard !changes.isEmpty else { return }
        try Outbox.seal(changes, keys, capture, to: journal)
    }
}

/// Rows with clocks that a snapshot may have as they are.
private struct ChangedRows {
    private var rows: [RowPlace: RowChange] = [:]
    private var order: [RowPlace] = []

    init(_ changes: [RowChange]) {
        for change in changes {
            let place = RowPlace(change)
            if rows.updateValue(change, forKey: place) == nil { order.append(place) }
        }
    }

    /// Forgets what the snapshot's row has too; a row that was born since the stable point is sent
    /// whole.
    mutating func remove(_ change: RowChange) {
        let place = RowPlace(change)
        guard var row = rows[place], row.incarnation == change.incarnation else { return }
        let others = row.columnGroups.filter { !change.columnGroups.contains($0) }
        if row.incarnation.timestamp == .stablePoint { row.columnGroups = others }
        rows[place] = others.isEmpty ? nil : row
    }

    var changes: [RowChange] { order.compactMap { rows[$0] } }
}
