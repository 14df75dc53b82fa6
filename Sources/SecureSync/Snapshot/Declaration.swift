/// The declarations of a snapshot besides its rows: the valid logs, and the stable point.
///
/// Snapshots are numbered without gaps and created once, so declarations have a total order, and
/// the writer of the next one has read all earlier ones. Logs are only opened and closed here: a
/// stable point computed without a member would forget data that the member needs.
package struct Declaration: Hashable, Sendable {
    /// The snapshot's; the first is 1.
    package var number: UInt64
    /// The positions that the snapshot contains.
    ///
    /// They never decrease from one snapshot to the next.
    package var positions: VersionVector
    package var stablePoint: StablePoint
    /// The logs whose published positions hold back the stable point.
    package var logs: [MemberID: Log]
    /// The last batch that counts of each permanently closed log.
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
        package var began: UInt64
        /// The snapshot that announced the log's closing; nil if it is open.
        package var closing: UInt64?

        package init(began: UInt64, closing: UInt64? = nil) {
            self.began = began
            self.closing = closing
        }
    }

    /// The knowledge that a member's last batch states.
    package struct Published: Hashable, Sendable {
        /// The positions, including the member's own log.
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
            logs: [founder: Log(began: 1)],
            closed: [:])
    }
}

// MARK: - The next declaration

extension Declaration {
    /// Returns the next declaration, by a member that has adopted this one.
    ///
    /// This one is the newest.
    ///
    /// - Parameters:
    ///   - writer: A member with an open log here.
    ///   - positions: The positions that the writer's rows contain; its own batches are in the
    ///     store.
    ///   - published: For each member, the knowledge in its last batch within `positions`; nothing
    ///     for a member that has sent none.
    ///   - lowerBound: The lower bound of a batch within `positions`, in milliseconds.
    ///   - silent: Members presumed gone. Their logs hold back the stable point until all others
    ///     have adopted the declaration, since some may have applied more of these logs.
    /// - Returns: The declaration; nil if `positions` do not cover this one.
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
            // A member that has sent nothing has the stable point from when it joined, and is not
            // known to have more.
            let least =
                logs.keys.map { published[$0]?.positions[member, default: 0] ?? 0 }.min() ?? 0
            let risen = max(old.positions[member, default: 0], min(least, position))
            if risen > 0 { stablePoint.positions[member] = risen }
        }
        var time = UInt64.max
        for member in Set(positions.keys).union(logs.keys) {
            let number = stablePoint.positions[member, default: 0]
            // All members know all of a closed log: it gets no more timestamps.
            if logs[member] == nil, number >= positions[member, default: 0] { continue }
            time = min(time, number == 0 ? old.time : lowerBound(member, number))
        }
        stablePoint.time = max(old.time, time == .max ? old.time : time)
        return stablePoint
    }

    /// Returns the next declaration by a new member that has loaded this snapshot, the newest: with
    /// the same content, and a new log for the member.
    ///
    /// The member sends no batch before it is created. If another member took the number, the
    /// member loads that snapshot and tries again.
    package func beginningLog(of member: MemberID) -> Declaration? {
        guard logs[member] == nil, closed[member] == nil else { return nil }
        var next = self
        next.number += 1
        next.logs[member] = Log(began: next.number)
        return next
    }
}

// MARK: - Using a declaration

extension Declaration {
    /// Whether a member may write to its log.
    package func isOpen(_ member: MemberID) -> Bool {
        logs[member].map { $0.closing == nil } ?? false
    }

    /// Whether a member with these positions may forget history up to the stable point.
    ///
    /// It needs all of the snapshot, not just the stable point's batches: until then, batches may
    /// arrive whose writers did not know everything up to the stable point.
    package func canBeAdopted(with positions: VersionVector) -> Bool {
        positions.cover(self.positions)
    }

    /// The last batch of a log that counts for a member that has adopted this declaration; nil for
    /// an open log.
    ///
    /// - Parameters:
    ///   - member: The log's member.
    ///   - named: The greatest number of that log in the positions of any batch that is next in an
    ///     *open* log; 0 if there is none. Others applied it while they could, so all members do.
    /// - Returns: The number; also nil for a log that the declaration does not contain.
    package func limit(of member: MemberID, named: UInt64 = 0) -> UInt64? {
        if let last = closed[member] { return last }
        guard logs[member]?.closing != nil else { return nil }
        return max(positions[member, default: 0], named)
    }

    /// Returns an edit of a closed log that did not count as it applies in the new log; nil if it
    /// becomes a conflict.
    ///
    /// Changes below the stable point can no longer be compared. If the snapshot lacks the row of
    /// an edit, the row was deleted.
    package func standing(_ change: RowChange, rowIsThere: Bool) -> RowChange? {
        let reduced = stablePoint.reduced(change)
        if reduced.incarnation.timestamp > .stablePoint { return reduced }
        guard reduced.incarnation.isAlive, rowIsThere else { return nil }
        var edit = reduced
        edit.columnGroups.removeAll { $0.timestamp == .stablePoint }
        return edit.columnGroups.isEmpty ? nil : edit
    }
}
