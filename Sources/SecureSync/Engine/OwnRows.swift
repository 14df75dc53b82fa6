/// What only this file has written, one change for each row.
///
/// Nobody has seen it, so an insertion and the edits after it are one insertion.
struct OwnRows {
    private(set) var changes: [RowChange] = []
    /// The birth of a new row as long as the logs are not read: below those of all others.
    let earlyStamp: Stamp
    private var places: [RowPlace: Int] = [:]

    init(_ all: [RowChange], of member: MemberID) {
        earlyStamp = Stamp(time: 1, member: member)
        for change in all { add(change) }
    }

    private mutating func add(_ change: RowChange) {
        let place = RowPlace(change)
        guard let index = places[place] else {
            places[place] = changes.count
            changes.append(change)
            return
        }
        let former = changes[index]
        let isEdit =
            change.life.isAlive && former.life.isAlive
            && (change.life.stamp == former.life.stamp || change.life.stamp == earlyStamp)
        guard isEdit else {
            if change.life.stamp >= former.life.stamp { changes[index] = change }
            return
        }
        let isInsertion = Self.isInsertion(former)
        for register in change.registers {
            let same = changes[index].registers.firstIndex { $0.columns == register.columns }
            guard let same else {
                changes[index].registers.append(register)
                continue
            }
            let known = changes[index].registers[same].known
            changes[index].registers[same] = register
            changes[index].registers[same].known = known
        }
        if isInsertion {
            changes[index] = Self.begun(changes[index], at: changes[index].greatestStamp)
        }
    }

    static func isInsertion(_ change: RowChange) -> Bool {
        change.life.isAlive && !change.registers.isEmpty
            && change.registers.allSatisfy { $0.stamp == change.life.stamp }
    }

    func early(_ change: RowChange) -> RowChange { Self.begun(change, at: earlyStamp) }

    /// The row as an insertion of another time.
    static func begun(_ change: RowChange, at stamp: Stamp) -> RowChange {
        var change = change
        change.life = .init(stamp: stamp, isAlive: true, known: change.life.known)
        for index in change.registers.indices {
            (change.registers[index].stamp, change.registers[index].known) = (stamp, nil)
        }
        return change
    }
}
