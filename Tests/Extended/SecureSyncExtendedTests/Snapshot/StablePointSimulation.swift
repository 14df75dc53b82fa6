import SecureStorage

@testable import SecureSync
@testable import SecureSyncTests

/// Members, their logs and snapshots as values: one row with one column, in which each member keeps
/// the clocks that it has not forgotten, and beside it the same row with all its clocks.
///
/// It decides by ``Declaration`` and ``Stable point`` alone. There is no time: timestamps and lower
/// bounds are any numbers that the rules allow, and any member may be taken for silent at any
/// moment.
struct StablePointSimulation: Hashable {
    /// Mistakes that the walks have to find.
    enum Mistake: CaseIterable {
        case closedAtOnce, undeclared, futureForgotten, timestampedLow, adoptedEarly, lateMerged
        case returnMerged, entryUndeclared
    }

    enum Kind: Hashable { case none, update, insert, delete }

    struct Row: Hashable {
        var isAlive = true
        var incarnation = Timestamp.stablePoint
        var value = Timestamp.stablePoint
        /// Which write is seen: its timestamp, also when that is forgotten.
        var content = Timestamp.stablePoint

        mutating func forget(_ stablePoint: StablePoint) {
            incarnation = stablePoint.reduced(incarnation)
            value = stablePoint.reduced(value)
        }

        mutating func merge(_ kind: Kind, _ timestamp: Timestamp, incarnation other: Timestamp) {
            switch kind {
            case .none: break
            case .update:
                guard isAlive, incarnation == other, timestamp > value else { return }
                (value, content) = (timestamp, timestamp)
            case .insert, .delete:
                guard timestamp > incarnation else { return }
                let isInsertion = kind == .insert
                let seen = isInsertion ? timestamp : .stablePoint
                (isAlive, incarnation, value, content) = (isInsertion, timestamp, seen, seen)
            }
        }

        /// Joins what a snapshot has: what its stable point covers is the snapshot's.
        mutating func join(_ other: Row) {
            if other.incarnation > incarnation {
                self = other
            } else if other.incarnation == incarnation,
                !other.isAlive || !isAlive || other.value >= value
            {
                self = other
            }
        }
    }

    struct Batch: Hashable {
        var published: Declaration.Published
        var lowerBound: UInt64
        var kind: Kind
        var timestamp: Timestamp
        var incarnation: Timestamp
        var fullIncarnation: Timestamp
    }

    struct Snapshot: Hashable {
        var declaration: Declaration
        var row: Row
        var full: Row
    }

    struct Member: Hashable {
        let id: MemberID
        var positions: VersionVector = [:]
        var adopted: Int
        var stablePoint = StablePoint()
        var lowerBound: UInt64 = 0
        var isUnsent = false
        var isGone = false
        var row = Row()
        var full = Row()
    }

    var members: [Member]
    var logs: [MemberID: [Batch]] = [:]
    var sent: VersionVector = [:]
    var snapshots: [Snapshot]
    var mistake: Mistake?
    var failure: String?

    static func id(_ number: Int) -> MemberID {
        MemberID([UInt8](repeating: 0, count: 15) + [UInt8(number + 1)]) ?? .none
    }

    init(members count: Int, mistake: Mistake? = nil) {
        self.mistake = mistake
        members = (0..<count).map { Member(id: Self.id($0), adopted: 0) }
        let first = Declaration(
            number: 1, positions: [:], stablePoint: StablePoint(),
            logs: Dictionary(
                uniqueKeysWithValues: members.map { ($0.id, Declaration.Log(began: 1)) }),
            closed: [:])
        snapshots = [Snapshot(declaration: first, row: Row(), full: Row())]
    }

    func declaration(_ index: Int) -> Declaration {
        snapshots[members[index].adopted].declaration
    }

    // MARK: - Steps

    private mutating func show(_ index: Int) {
        let (row, full) = (members[index].row, members[index].full)
        if row.isAlive != full.isAlive { failure = "a row is there for one of them only" }
        if row.isAlive, row.content != full.content { failure = "another edit is seen" }
    }

    mutating func seal(
        _ index: Int, _ wanted: Kind, above skip: UInt64, promising ahead: UInt64
    ) -> Bool {
        let me = members[index]
        guard declaration(index).isOpen(me.id) || mistake == .entryUndeclared, !me.isGone,
            !me.isUnsent, logs[me.id, default: []].count < 4,
            wanted == .none || (wanted == .insert) != me.row.isAlive
        else { return false }
        var time = max(me.row.incarnation.milliseconds, me.row.value.milliseconds)
        if mistake != .timestampedLow { time = max(time, me.lowerBound) }
        let timestamp = Timestamp(
            time: Timestamp.time(milliseconds: time + 1 + skip), member: me.id)
        if wanted != .none, timestamp < me.full.incarnation || timestamp < me.full.value {
            failure = "an edit is below what it overwrites"
        }
        append(index, wanted, timestamp, lowerBound: me.lowerBound + ahead)
        return true
    }

    private mutating func append(
        _ index: Int, _ kind: Kind, _ timestamp: Timestamp, lowerBound: UInt64
    ) {
        let (incarnation, fullIncarnation) = (
            members[index].row.incarnation, members[index].full.incarnation
        )
        members[index].row.merge(kind, timestamp, incarnation: incarnation)
        members[index].full.merge(kind, timestamp, incarnation: fullIncarnation)
        show(index)
        let id = members[index].id
        members[index].lowerBound = lowerBound
        members[index].isUnsent = true
        members[index].positions[id, default: 0] += 1
        let published = Declaration.Published(
            positions: members[index].positions,
            adopted: snapshots[members[index].adopted].declaration.number)
        logs[id, default: []].append(
            Batch(
                published: published, lowerBound: lowerBound, kind: kind, timestamp: timestamp,
                incarnation: incarnation,
                fullIncarnation: fullIncarnation))
    }

    mutating func send(_ index: Int) -> Bool {
        guard members[index].isUnsent, !members[index].isGone else { return false }
        sent[members[index].id] = members[index].positions[members[index].id]
        members[index].isUnsent = false
        return true
    }

    mutating func pull(_ index: Int, from other: MemberID) -> Bool {
        let me = members[index]
        let number = me.positions[other, default: 0] + 1
        guard other != me.id, !me.isGone, declaration(index).isOpen(me.id),
            number <= sent[other, default: 0], let batch = logs[other]?[Int(number) - 1]
        else { return false }
        let isNewLog = mistake == .entryUndeclared && declaration(index).logs[other] == nil
        if mistake != .lateMerged, !isNewLog {
            let named = members.map(\.id).filter { $0 != other && declaration(index).isOpen($0) }
                .map { log -> UInt64 in
                    let next = me.positions[log, default: 0]
                    guard next < sent[log, default: 0] else { return 0 }
                    return logs[log]?[Int(next)].published.positions[other] ?? 0
                }
            let known = declaration(index)
            guard known.logs[other] != nil || known.closed[other] != nil,
                number <= known.limit(of: other, named: named.max() ?? 0) ?? .max
            else { return false }
        }
        var needed = batch.published.positions
        needed[other] = 0
        guard me.positions.cover(needed),
            mistake == .undeclared || batch.published.adopted <= declaration(index).number
        else { return false }
        members[index].positions[other] = number
        members[index].row.merge(
            batch.kind, batch.timestamp, incarnation: me.stablePoint.reduced(batch.incarnation))
        members[index].full.merge(batch.kind, batch.timestamp, incarnation: batch.fullIncarnation)
        show(index)
        return true
    }

    mutating func adopt(_ index: Int) -> Bool {
        let me = members[index]
        guard !me.isGone, me.adopted + 1 < snapshots.count, declaration(index).isOpen(me.id) else {
            return false
        }
        let next = snapshots[me.adopted + 1].declaration
        guard
            mistake == .adoptedEarly
                ? me.positions.cover(next.stablePoint.positions)
                : next.canBeAdopted(with: me.positions)
        else { return false }
        members[index].adopted += 1
        forget(index, next.stablePoint)
        return true
    }

    private mutating func forget(_ index: Int, _ stablePoint: StablePoint) {
        members[index].stablePoint = stablePoint
        var limit = stablePoint
        if mistake == .futureForgotten, stablePoint.positions.cover(members[index].positions) {
            limit.time = 1 << 40
        }
        members[index].row.forget(limit)
        show(index)
    }

    private func next(_ index: Int, silent: Set<MemberID>) -> Declaration? {
        let me = members[index]
        guard !me.isGone, me.adopted == snapshots.count - 1, !me.isUnsent else { return nil }
        var published: [MemberID: Declaration.Published] = [:]
        for (log, number) in me.positions where number > 0 {
            published[log] = logs[log]?[Int(number) - 1].published
        }
        var base = declaration(index)
        if mistake == .closedAtOnce {
            for member in silent where member != me.id && base.logs[member] != nil {
                base.logs[member]?.closing = 0
            }
        }
        return base.next(
            by: me.id, positions: me.positions, published: published,
            lowerBound: { logs[$0]?[Int($1) - 1].lowerBound ?? 0 }, silent: silent)
    }

    mutating func snapshot(_ index: Int, silent: Set<MemberID>) -> Bool {
        guard snapshots.count < 7, let next = next(index, silent: silent) else { return false }
        members[index].adopted += 1
        forget(index, next.stablePoint)
        snapshots.append(
            Snapshot(declaration: next, row: members[index].row, full: members[index].full))
        return true
    }

    mutating func forgetUndeclared(_ index: Int) -> Bool {
        guard mistake == .undeclared, let next = next(index, silent: []) else { return false }
        forget(index, next.stablePoint)
        return true
    }

    mutating func load(_ index: Int) -> Bool {
        let newest = snapshots[snapshots.count - 1]
        guard !members[index].isGone, members[index].adopted < snapshots.count - 1,
            newest.declaration.isOpen(members[index].id)
        else { return false }
        members[index].adopted = snapshots.count - 1
        members[index].stablePoint = newest.declaration.stablePoint
        members[index].row.forget(newest.declaration.stablePoint)
        members[index].row.join(newest.row)
        members[index].full.join(newest.full)
        members[index].positions = members[index].positions.joined(
            with: newest.declaration.positions)
        show(index)
        return true
    }

    /// A member whose log is closed continues in a new one, with its last edit if that did not
    /// count.
    mutating func comeBack(_ index: Int) -> Bool {
        let me = members[index]
        let newest = snapshots[snapshots.count - 1]
        let old = newest.declaration
        guard !me.isGone, members.count < 5, snapshots.count < 8,
            old.logs[me.id]?.closing != nil
                || old.closed[me.id] != nil
        else { return false }
        members[index].isGone = true
        let id = Self.id(members.count)
        var new = Member(id: id, adopted: snapshots.count - 1)
        (new.row, new.full) = (newest.row, newest.full)
        if mistake == .returnMerged {
            (new.row, new.full) = (me.row, me.full)
            new.row.forget(old.stablePoint)
            new.row.join(newest.row)
            new.full.join(newest.full)
        }
        (new.stablePoint, new.positions, new.lowerBound) = (
            old.stablePoint, old.positions, old.stablePoint.time
        )
        if mistake != .entryUndeclared, let next = old.beginningLog(of: id) {
            snapshots.append(Snapshot(declaration: next, row: newest.row, full: newest.full))
            new.adopted += 1
        }
        members.append(new)
        let last = me.positions[me.id, default: 0]
        guard last > old.positions[me.id, default: 0], let edit = logs[me.id]?.last,
            edit.kind != .none
        else { return true }
        let change = RowChange(
            table: "t", key: [],
            incarnation: RowChange.Incarnation(
                timestamp: edit.kind == .update ? edit.incarnation : edit.timestamp,
                isAlive: edit.kind != .delete),
            columnGroups: edit.kind == .delete
                ? []
                : [
                    RowChange.ColumnGroup(
                        columns: ["c"], values: [.null], timestamp: edit.timestamp)
                ])
        let standing = old.standing(change, rowIsThere: newest.row.isAlive)
        guard standing != nil || mistake == .returnMerged else { return true }
        append(
            members.count - 1, edit.kind, Timestamp(time: edit.timestamp.time, member: id),
            lowerBound: new.lowerBound)
        return true
    }
}
