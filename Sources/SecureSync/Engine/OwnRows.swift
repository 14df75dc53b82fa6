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
        for register in change.registers { changes[index].replaceColumns(with: register) }
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

extension RowChange {
    /// Puts a later value over what there is of its columns, and keeps what was known before both.
    ///
    /// Not by equal groups of columns: a migration or a new declaration may have changed them.
    fileprivate mutating func replaceColumns(with register: Register) {
        let names = Set(register.columns.map(\.sqlNameKey))
        var register = register
        var (kept, place): ([Register], Int?) = ([], nil)
        for former in registers {
            let rest = former.columns.indices.filter {
                !names.contains(former.columns[$0].sqlNameKey)
            }
            guard rest.count < former.columns.count else {
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
            if !rest.isEmpty {
                var part = former
                part.columns = rest.map { former.columns[$0] }
                part.values = rest.map { former.values[$0] }
                kept.append(part)
            }
        }
        kept.insert(register, at: place ?? kept.count)
        registers = kept
    }
}
