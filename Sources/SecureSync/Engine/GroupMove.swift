internal import Foundation
internal import SecureStorage

// Moves a file into the group that follows its own, in one transaction.

/// Moves a file to the group that follows its own, where it needs a new log.
struct GroupMove {
    let keys: GroupKeys
    /// The former group's.
    let former: GroupKeys
    let capture: Capture

    /// Keeps changes that only this file may have for the start of its log; in a write transaction.
    func perform(_ chain: [Data], in db: SecureDatabaseStore) throws {
        let journal = SyncJournal(db)
        guard var place = try journal.place() else { throw SyncError.notAMember }
        var own = try journal.takePending()
        own += try journal.outgoingChanges(former)
        // A reader loads the group's rows.
        if !keys.isReader, place.began > 0 || place.former != nil {
            // It was a member, so its rows include more than its own writes.
            _ = try capture.timestampAndSettle(in: db)
            own += try capture.clockedRows(in: db).map(\.withKnownIncarnation)
        }
        try journal.archiveGroup()
        try journal.setChain(chain)
        (place.group, place.member, place.former) = (keys.group, keys.member, nil)
        (place.began, place.published) = (0, 0)
        try capture.setMember(keys.member, isReader: keys.isReader, in: db)
        try journal.setPlace(place)
        try journal.addPending(own)
    }
}

extension RowChange {
    /// A row that others know: its editors knew its insertion.
    fileprivate var withKnownIncarnation: RowChange {
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
    /// Merges a snapshot of the following group with the file's rows; the new log begins with the
    /// changes that the snapshot lacks; in a write transaction.
    func follow(
        _ snapshot: AdoptedSnapshot, _ files: [URL], _ chain: [Data], in db: SecureDatabaseStore
    ) throws {
        let journal = SyncJournal(db)
        guard var place = try journal.place() else { throw SyncError.notAMember }
        _ = try capture.timestampAndSettle(in: db)
        // Only own writes that the snapshot's writer did not know are new conflicts if they lose.
        let known = try journal.lowerBound(
            of: place.member, journal.acknowledgement(by: [snapshot.writer], of: place.member))
        let pending = try journal.takePending()
        try journal.archiveGroup()
        try journal.setChain(chain)
        (place.group, place.began) = (keys.group, snapshot.number)
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

/// Rows with clocks, some of which a snapshot may already contain.
private struct ChangedRows {
    private var rows: [RowPlace: RowChange] = [:]
    private var order: [RowPlace] = []

    init(_ changes: [RowChange]) {
        for change in changes {
            let place = RowPlace(change)
            if rows.updateValue(change, forKey: place) == nil { order.append(place) }
        }
    }

    /// Drops what the snapshot's row also has; a row inserted since the stable point is sent whole.
    mutating func remove(_ change: RowChange) {
        let place = RowPlace(change)
        guard var row = rows[place], row.incarnation == change.incarnation else { return }
        let others = row.columnGroups.filter { !change.columnGroups.contains($0) }
        if row.incarnation.timestamp == .stablePoint { row.columnGroups = others }
        rows[place] = others.isEmpty ? nil : row
    }

    var changes: [RowChange] { order.compactMap { rows[$0] } }
}
