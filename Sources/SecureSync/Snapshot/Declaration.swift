/// What a snapshot declares besides its rows: whose logs count, and the stable point.
///
/// Snapshots are numbered without gaps and each is created once, so declarations have a total
/// order, and whoever writes the next one has read all before it. Logs are opened and closed here
/// and nowhere else: a stable point that does not know of a member would forget what that member
/// needs.
package struct Declaration: Hashable, Sendable {
    /// The snapshot's; the first is 1.
    package var number: UInt64
    /// What the snapshot contains.
    ///
    /// Never goes back from one snapshot to the next.
    package var positions: VersionVector
    package var stablePoint: StablePoint
    /// The logs whose published positions hold the stable point.
    package var logs: [MemberID: Log]
    /// The last batch that counts of each log that is closed for ever.
    package var closed: VersionVector

    package init(
        number: UInt64, positions: VersionVector, stablePoint: StablePoint, logs: [MemberID: Log],
        closed: VersionVector
    ) {
        self.number = number
        self.positions = positions
        self.stablePoint = stablePoint
        self.logs = logs
        self.closed = closed
    }

    package struct Log: Hashable, Sendable {
        /// The snapshot with which the log began.
        package var entered: UInt64
        /// The snapshot that said that the log is to be closed; nil if it is open.
        package var closing: UInt64?

        package init(entered: UInt64, closing: UInt64? = nil) {
            self.entered = entered
            self.closing = closing
        }
    }

    /// What a member's last batch says that it knew.
    package struct Published: Hashable, Sendable {
        /// The member's own log included.
        package var positions: VersionVector
        /// The last snapshot that the member had adopted.
        package var adopted: UInt64

        package init(positions: VersionVector, adopted: UInt64) {
            self.positions = positions
            self.adopted = adopted
        }
    }

    /// The first declaration of a group, by its founder.
    package static func first(of founder: MemberID, positions: VersionVector = [:]) -> Declaration {
        Declaration(
            number: 1, positions: positions, stablePoint: StablePoint(),
            logs: [founder: Log(entered: 1)],
            closed: [:])
    }
}

// MARK: - The next one

extension Declaration {
    /// Returns the next declaration by a member that has adopted this one, the newest.
    ///
    /// - Parameters:
    ///   - writer: Whose log is open here.
    ///   - positions: All that the writer's rows contain; its own batches are in the store.
    ///   - published: Of each member, what its last batch within `positions` says; nothing for who
    ///     has sent none.
    ///   - lowerBound: The time of a batch within `positions`, in milliseconds.
    ///   - silent: Members that are taken to be gone. Their logs hold the stable point until all
    ///     others have adopted the declaration, since some may still have applied more of them.
    /// - Returns: The declaration; nil if `positions` lack something of this one.
    package func next(
        by writer: MemberID, positions: VersionVector, published: [MemberID: Published],
        lowerBound: (MemberID, UInt64) -> UInt64, silent: Set<MemberID> = []
    ) -> Declaration? {
        guard isOpen(writer), positions.cover(self.positions) else { return nil }
        let now = published.merging([writer: Published(positions: positions, adopted: number)]) {
            $1
        }
        var next = self
        next.number += 1
        next.positions = positions
        for (member, log) in logs {
            guard let closing = log.closing else { continue }
            guard isKnown(closing, now) else { continue }
            next.logs[member] = nil
            next.closed[member] = positions[member, default: 0]
        }
        next.stablePoint = next.risenStablePoint(
            over: stablePoint, published: now, lowerBound: lowerBound)
        for member in silent where member != writer && next.logs[member] != nil {
            if next.logs[member]?.closing == nil { next.logs[member]?.closing = next.number }
        }
        return next
    }

    func risenStablePoint(
        over old: StablePoint, published: [MemberID: Published],
        lowerBound: (MemberID, UInt64) -> UInt64
    ) -> StablePoint {
        var stablePoint = old
        for (member, position) in positions {
            // Who has sent nothing has what was in the stable point when it entered, and is not
            // known to have more.
            let least =
                logs.keys.map { published[$0]?.positions[member, default: 0] ?? 0 }.min() ?? 0
            let risen = max(old.positions[member, default: 0], min(least, position))
            if risen > 0 { stablePoint.positions[member] = risen }
        }
        var time = UInt64.max
        for member in Set(positions.keys).union(logs.keys) {
            let number = stablePoint.positions[member, default: 0]
            // All of a closed log is known to all: it timestamps nothing any more.
            if logs[member] == nil, number >= positions[member, default: 0] { continue }
            time = min(time, number == 0 ? old.time : lowerBound(member, number))
        }
        stablePoint.time = max(old.time, time == .max ? old.time : time)
        return stablePoint
    }

    /// Returns the next declaration, by a new member that has loaded this snapshot, the newest: the
    /// content is the same, and the member's log begins.
    ///
    /// Before it is created the member sends no batch. If another one took the number, the member
    /// loads that snapshot and tries again.
    package func entering(_ member: MemberID) -> Declaration? {
        guard logs[member] == nil, closed[member] == nil else { return nil }
        var next = self
        next.number += 1
        next.logs[member] = Log(entered: next.number)
        return next
    }
}

// MARK: - What a member does with it

extension Declaration {
    /// Whether a member may write its log.
    package func isOpen(_ member: MemberID) -> Bool {
        logs[member].map { $0.closing == nil } ?? false
    }

    /// Whether a member with these positions may forget what the stable point covers.
    ///
    /// It needs all of the snapshot, not only of the stable point: until then there may come
    /// batches that were written before their writers knew what is in the stable point.
    package func canBeAdopted(with positions: VersionVector) -> Bool {
        positions.cover(self.positions)
    }

    /// Whether a batch counts for a member that has adopted this declaration.
    ///
    /// - Parameters:
    ///   - number: The batch's.
    ///   - member: Whose log it is in.
    ///   - named: The greatest number of that log in the positions of any batch that is next in an
    ///     *open* log; 0 if there is none. Others applied it while they could, so all do.
    /// - Returns: `.unknown` if a later snapshot has to be read first.
    package func verdict(on number: UInt64, of member: MemberID, named: UInt64 = 0) -> Verdict {
        if let log = logs[member] {
            guard log.closing != nil else { return .counts }
            return number <= max(positions[member, default: 0], named) ? .counts : .invalid
        }
        guard let last = closed[member] else { return .unknown }
        return number <= last ? .counts : .invalid
    }

    package enum Verdict: Hashable, Sendable { case counts, invalid, unknown }

    /// What a member does that comes back and finds this declaration as the newest.
    ///
    /// - Parameters:
    ///   - member: The one that is back.
    ///   - positions: All that it has applied.
    ///   - isAvailable: Whether the store still has a batch.
    /// - Returns: What to do.
    package func returning(
        _ member: MemberID, positions: VersionVector, isAvailable: (MemberID, UInt64) -> Bool
    ) -> Return {
        guard isOpen(member) else { return .fork }
        let isComplete = self.positions.allSatisfy { log, last in
            let next = positions[log, default: 0] + 1
            return next > last || isAvailable(log, next)
        }
        return isComplete ? .readOn : .load
    }

    package enum Return: Hashable, Sendable {
        /// All batches since are there.
        case readOn
        /// Join the snapshot's rows into the file's, then read on; the log goes on, and all of its
        /// edits count.
        case load
        /// The log is closed. Load the snapshot, enter with a new log, and send there what
        /// ``Declaration/standing(_:rowIsThere:)`` lets stand of the edits that did not count.
        case fork
    }

    /// Whether an edit of a closed log that did not count stands in the new one; if not, it goes to
    /// the conflicts.
    ///
    /// What the stable point covers cannot be compared any more. An edit of a row that the snapshot
    /// lacks is one of a row that was deleted.
    package func standing(_ change: RowChange, rowIsThere: Bool) -> RowChange? {
        let reduced = stablePoint.reduced(change)
        if reduced.incarnation.timestamp > .stablePoint { return reduced }
        guard reduced.incarnation.isAlive, rowIsThere else { return nil }
        var edit = reduced
        edit.columnGroups.removeAll { $0.timestamp == .stablePoint }
        return edit.columnGroups.isEmpty ? nil : edit
    }
}
