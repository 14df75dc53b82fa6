/// The changes that only this file has, one for each row.
///
/// Nobody has seen them, so an insertion and its later edits become one insertion. Each column has
/// the time of its last edit.
struct OwnRows {
    private(set) var changes: [RowChange] = []
    /// The incarnation of a new row until the logs are read: below all others.
    let earlyTimestamp: Timestamp
    /// Whether a row of the group wins over one that was in the file before.
    private let groupWins: Bool
    private var places: [RowPlace: Int] = [:]
    /// The incarnations that the file has shown of each own row.
    private var births: [RowPlace: Set<Timestamp>] = [:]

    init(_ all: [RowChange], _ place: SyncJournal.Place) {
        earlyTimestamp = Timestamp(time: 1, member: place.member)
        groupWins = place.keepsRows
        for change in all { add(change) }
    }

    private mutating func add(_ change: RowChange) {
        let place = RowPlace(change)
        guard let index = places[place] else {
            places[place] = changes.count
            changes.append(change)
            births[place] = [change.incarnation.timestamp]
            return
        }
        let former = changes[index]
        let isInsertion = Self.isInsertion(former)
        // A row from before joining that loses to the group's row is listed.
        let isGroups = groupWins && isInsertion && !isOwn(change.incarnation.timestamp, of: change)
        // Until the log begins, the file may show an older incarnation of the row than its own.
        let isEdit =
            change.incarnation.isAlive && former.incarnation.isAlive
            && change.incarnation.timestamp <= former.incarnation.timestamp
        guard isEdit, !isGroups else {
            if isGroups || change.incarnation.timestamp >= former.incarnation.timestamp {
                changes[index] = change
                births[place] = [change.incarnation.timestamp]
            }
            return
        }
        let isSame = change.incarnation.timestamp == former.incarnation.timestamp
        for columnGroup in change.columnGroups
        where isSame || columnGroup.timestamp > former.incarnation.timestamp {
            changes[index].put(columnGroup)
        }
        if isInsertion {
            for columnGroup in changes[index].columnGroups.indices {
                changes[index].columnGroups[columnGroup].known = nil
            }
        }
    }

    /// Whether a row with this incarnation is the one that this file inserted.
    func isOwn(_ birth: Timestamp, of change: RowChange) -> Bool {
        birth == earlyTimestamp || births[RowPlace(change)]?.contains(birth) ?? false
    }

    /// An edit has a column with another timestamp, and knows the row unless the row is below the
    /// stable point.
    ///
    /// A row with only a key is always an insertion.
    static func isInsertion(_ change: RowChange) -> Bool {
        change.incarnation.isAlive
            && change.columnGroups.allSatisfy {
                $0.timestamp == change.incarnation.timestamp
                    || $0.known == nil && change.incarnation.timestamp > .stablePoint
            }
    }

    func early(_ change: RowChange) -> RowChange { Self.begun(change, at: earlyTimestamp) }

    /// The row as an insertion at another time.
    static func begun(_ change: RowChange, at timestamp: Timestamp) -> RowChange {
        var change = change
        change.incarnation = .init(
            timestamp: timestamp, isAlive: true, known: change.incarnation.known)
        for index in change.columnGroups.indices {
            (change.columnGroups[index].timestamp, change.columnGroups[index].known) = (
                timestamp, nil
            )
        }
        return change
    }
}

extension RowChange {
    /// Replaces earlier values of the same columns; keeps what both writes knew.
    ///
    /// Column groups are not compared as wholes: a migration or a new declaration may have changed
    /// them.
    fileprivate mutating func put(_ columnGroup: ColumnGroup) {
        var columnGroup = columnGroup
        var (kept, place): ([ColumnGroup], Int?) = ([], nil)
        for former in columnGroups {
            let rest = former.without(columnGroup)
            if rest.columns.count == former.columns.count {
                kept.append(former)
                continue
            }
            if former.timestamp > columnGroup.timestamp {
                columnGroup = columnGroup.without(former)
                kept.append(former)
                continue
            }
            // The least of several: not all of them knew what is above it.
            if place == nil {
                (columnGroup.known, place) = (former.known, kept.count)
            } else {
                columnGroup.known = former.known.flatMap { known in
                    columnGroup.known.map { min($0, known) }
                }
            }
            if !rest.columns.isEmpty { kept.append(rest) }
        }
        if !columnGroup.columns.isEmpty { kept.insert(columnGroup, at: place ?? kept.count) }
        columnGroups = kept
    }
}

extension RowChange.ColumnGroup {
    /// The columns that the other group does not have.
    fileprivate func without(_ other: Self) -> Self {
        let names = Set(other.columns.map(\.sqlNameKey))
        let rest = columns.indices.filter { !names.contains(columns[$0].sqlNameKey) }
        var left = self
        (left.columns, left.values) = (rest.map { columns[$0] }, rest.map { values[$0] })
        return left
    }
}
