// Checks of the next declaration: members accept another member's conclusion only if they reach it
// themselves.
extension Declaration {
    /// Why a declaration cannot be the next one; nil if it can.
    ///
    /// A writer that knows less computes a lower stable point. So a stable point above this
    /// member's own is wrong, or depends on batches that this member does not know yet.
    ///
    /// - Parameters:
    ///   - next: The declaration that follows this one.
    ///   - writer: The member that signed it.
    ///   - published: For each member, the positions in its last batch applied here.
    ///   - lowerBound: The lower bound of a batch applied here, in milliseconds.
    /// - Returns: The reason, as the end of a sentence.
    package func objection(
        to next: Declaration, by writer: MemberID, published: [MemberID: Published],
        lowerBound: (MemberID, UInt64) -> UInt64
    ) -> String? {
        guard next.number > number, next.positions.cover(positions),
            next.stablePoint.positions.cover(stablePoint.positions),
            next.stablePoint.time >= stablePoint.time
        else { return "it goes back" }
        if logs[writer] == nil {
            var before = self
            before.number = next.number - 1
            return before.beginningLog(of: writer) == next
                ? nil : "it is more than the one before with one more log"
        }
        guard isOpen(writer) else { return "its writer's log is closed" }
        let now = published.merging([writer: Published(positions: next.positions, adopted: number)])
        {
            $1.joined(with: $0)
        }
        guard keepsLogs(in: next, writer, now) else { return "it opens or closes a log too early" }
        let highest = next.risenStablePoint(
            over: stablePoint, published: now, lowerBound: lowerBound)
        guard highest.positions.cover(next.stablePoint.positions),
            next.stablePoint.time <= highest.time
        else {
            return "its stable point is above what all members have applied"
        }
        return nil
    }

    private func keepsLogs(
        in next: Declaration, _ writer: MemberID, _ published: [MemberID: Published]
    ) -> Bool {
        guard Set(logs.keys).union(closed.keys) == Set(next.logs.keys).union(next.closed.keys)
        else { return false }
        for (member, last) in closed where next.closed[member] != last { return false }
        for (member, log) in logs {
            if let later = next.logs[member] {
                let isKept = later == log
                let isClosing =
                    log.closing == nil && member != writer
                    && later == Log(began: log.began, closing: next.number)
                guard isKept || isClosing else { return false }
            } else {
                guard let closing = log.closing, next.closed[member] == next.positions[member] ?? 0,
                    isKnown(closing, published)
                else { return false }
            }
        }
        return true
    }

    /// Whether all open logs have adopted a snapshot.
    func isKnown(_ closing: UInt64, _ published: [MemberID: Published]) -> Bool {
        logs.allSatisfy { other, log in
            log.closing != nil || (published[other]?.adopted ?? log.began) >= closing
        }
    }
}

extension Declaration.Published {
    fileprivate func joined(with other: Declaration.Published) -> Declaration.Published {
        .init(
            positions: positions.joined(with: other.positions), adopted: max(adopted, other.adopted)
        )
    }
}
