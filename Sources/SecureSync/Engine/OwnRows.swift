/// What only this file has written, one change for each row.
///
/// Nobody has seen it, so an insertion and the edits after it are one insertion, in which each
/// column has the time of its last edit.
struct OwnRows {
    private(set) var changes: [RowChange] = []
    /// The birth of a new row as long as the logs are not read: below those of all others.
    let earlyTimestamp: Timestamp
    /// Whether a row of the group wins over one that was in the file before.
    private let groupWins: Bool
    private var places: [RowPlace: Int] = [:]
    /// The births that the file has shown of each row of its own.
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
            births[place] = [change.life.timestamp]
            return
        }
        let former = changes[index]
        let isInsertion = Self.isInsertion(former)
        // What was in the file before has lost to a row of the group, and is listed.
        let isGroups = groupWins && isInsertion && !isOwn(change.life.timestamp, of: change)
        // While a log waits to begin, the file may show an older life of the row than its own.
        let isEdit =
            change.life.isAlive && former.life.isAlive
            && change.life.timestamp <= former.life.timestamp
        guard isEdit, !isGroups else {
            if isGroups || change.life.timestamp >= former.life.timestamp {
                changes[index] = change
                births[place] = [change.life.timestamp]
            }
            return
        }
        let isSame = change.life.timestamp == former.life.timestamp
        for register in change.registers where isSame || register.timestamp > former.life.timestamp
        {
            changes[index].put(register)
        }
        if isInsertion {
            for register in changes[index].registers.indices {
                changes[index].registers[register].known = nil
            }
        }
    }

    /// Whether a row with this birth is the one that this file has inserted.
    func isOwn(_ birth: Timestamp, of change: RowChange) -> Bool {
        birth == earlyTimestamp || births[RowPlace(change)]?.contains(birth) ?? false
    }

    /// An edit has a column with another timestamp, written in knowledge of the row unless that is
    /// below the floor; a row of a key alone is only ever inserted.
    static func isInsertion(_ change: RowChange) -> Bool {
        change.life.isAlive
            && change.registers.allSatisfy {
                $0.timestamp == change.life.timestamp
                    || $0.known == nil && change.life.timestamp > .floor
            }
    }

    func early(_ change: RowChange) -> RowChange { Self.begun(change, at: earlyTimestamp) }

    /// The row as an insertion of another time.
    static func begun(_ change: RowChange, at timestamp: Timestamp) -> RowChange {
        var change = change
        change.life = .init(timestamp: timestamp, isAlive: true, known: change.life.known)
        for index in change.registers.indices {
            (change.registers[index].timestamp, change.registers[index].known) = (timestamp, nil)
        }
        return change
    }
}

extension RowChange {
    /// Puts a value over what there is of its columns, where it is later; keeps what was known
    /// before both.
    ///
    /// Not by equal groups of columns: a migration or a new declaration may have changed them.
    fileprivate mutating func put(_ register: Register) {
        var register = register
        var (kept, place): ([Register], Int?) = ([], nil)
        for former in registers {
            let rest = former.without(register)
            if rest.columns.count == former.columns.count {
                kept.append(former)
                continue
            }
            if former.timestamp > register.timestamp {
                register = register.without(former)
                kept.append(former)
                continue
            }
            // Of several, the least: what is above it was not known to all of them.
            if place == nil {
                (register.known, place) = (former.known, kept.count)
            } else {
                register.known = former.known.flatMap { known in
                    register.known.map { min($0, known) }
                }
            }
            if !rest.columns.isEmpty { kept.append(rest) }
        }
        if !register.columns.isEmpty { kept.insert(register, at: place ?? kept.count) }
        registers = kept
    }
}

extension RowChange.Register {
    /// What is left without the columns of another one.
    fileprivate func without(_ other: Self) -> Self {
        let names = Set(other.columns.map(\.sqlNameKey))
        let rest = columns.indices.filter { !names.contains(columns[$0].sqlNameKey) }
        var left = self
        (left.columns, left.values) = (rest.map { columns[$0] }, rest.map { values[$0] })
        return left
    }
}
