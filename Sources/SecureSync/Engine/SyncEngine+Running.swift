internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

extension SyncEngine {
    /// Sends local changes, and applies others' changes, once.
    ///
    /// For background tasks; ``run()`` does it whenever there is something to do. An unreadable log
    /// does not block the others: they are applied before the call fails.
    ///
    /// - Returns: The work done, and the work left.
    /// - Throws: ``SyncError``: `.notAMember`, including after this member was removed;
    ///   `.withheld`, `.damaged` and `.storeHasForgotten` if the store does not show existing
    ///   objects; `.otherEngine`; the errors of the store and of the database.
    @discardableResult
    public func syncOnce() async throws -> SyncReport {
        let result = Locked(SyncReport())
        do {
            try await inTurn { [self] in
                changes.update { $0.phase = .syncing }
                let report = try await syncedRounds()
                result.withLock { $0 = report }
                try await noteSuccess()
            }
        } catch {
            let error = await named(error)
            try? await noteFailure(error)
            throw error
        }
        return result.withLock { $0 }
    }

    /// An error about a log with the name of its member.
    private func named(_ error: any Error) async -> any Error {
        guard let error = error as? SyncError, error.isAbsence || error.isOfALog else {
            return error
        }
        return error.naming(await (try? currentGroup())?.names() ?? [:])
    }

    /// Rounds until one finds nothing new in the chain, and no other copy of this file.
    private func syncedRounds() async throws -> SyncReport {
        var report = SyncReport()
        var (forks, loads) = (0, 0)
        var (isCurrent, needsSnapshot) = (false, false)
        await (try currentGroup()).invalid.forget()
        // Writes that are not captured would never be sent.
        try await database.read { [capture] in try capture.verify(in: $0) }
        while true {
            let group = try await currentGroup()
            if try await moveToFollowingGroup(after: group) {
                needsSnapshot = false
                continue
            }
            try await completeReset()
            try await removeExpired(group)
            try await rotateIfDue(group)
            try await keepChain(of: group)
            var keys = try await group.keys()
            keys.isCurrent = isCurrent
            isCurrent = false
            do {
                if needsSnapshot {
                    if try await !loadNewest(keys) {
                        forks += 1
                        try await renew()
                    }
                    needsSnapshot = false
                    continue
                }
                try await beginLog(keys, &report)
                let failures = try await round(keys, &report)
                // Reading may need a key or a member that was added meanwhile.
                try await group.refresh()
                if try await keepChain(of: group) { continue }
                if let failure = failures.first {
                    keys.invalid.forget(hasFailed: true)
                    throw failure
                }
                try await renewIfDue(group, report)
                return report
            } catch is GroupKeys.Outdated {
                // A snapshot by an unknown member is invalid only if the refreshed chain does not
                // name it either.
                try await group.refresh()
                isCurrent = try await !keepChain(of: group)
            } catch is Inbox.NeedsSnapshot {
                loads += 1
                guard loads < 10 else { throw SyncError.otherEngine }
                report.hasLoadedSnapshot = true
                needsSnapshot = true
            } catch  where error is Outbox.OtherCopy || error is Inbox.OtherCopy {
                forks += 1
                guard forks < 3 else { throw SyncError.otherEngine }
                try await renew()
                needsSnapshot = false
                report.hasForked = true
            } catch is Inbox.Stale {
                forks += 1
                guard forks < 3 else { throw SyncError.otherEngine }
                try await renew(leaving: true)
                needsSnapshot = false
                report.hasLoadedSnapshot = true
            }
        }
    }

    /// The group's keys are wrapped for open invitations, so expired ones are removed.
    private func removeExpired(_ group: SyncGroup) async throws {
        let expired = await group.expired
        guard !expired.isEmpty, await group.isAdmin else { return }
        // Codes sign no snapshots, so all that there are still count.
        try await group.remove(expired.map(BatchPosition.beginning))
    }

    /// This member's later writes are not for members that have left.
    ///
    /// Only if it has written something: rotation trusts that the store shows the whole chain, and
    /// a member that only reads has no need to.
    private func rotateIfDue(_ group: SyncGroup) async throws {
        guard try await group.needsRotation, try await waitingMarks() != nil else { return }
        try await group.rotateIfNeeded()
    }

    /// Replaces this device's keys, and the group's, if they are old.
    ///
    /// Only after a round that sent something and found no other copy of this file: an outdated
    /// copy would take the keys from the active one. Copies of a reader's file are not detected;
    /// the first copy to renew its keys remains a member.
    private func renewIfDue(_ group: SyncGroup, _ report: SyncReport) async throws {
        let interval = rotation.withLock { $0 }.map { UInt64($0 / .milliseconds(1)) }
        let isReader = try await group.keys().isReader
        guard report.sentBatches > 0 || isReader, await group.hasOldKeys(interval)
        else { return }
        do {
            try await group.renewKeys(asksForKey: false)
        } catch let error as SyncError where isReader && !error.isTransient {
            // Its access to the store may be read-only.
            return
        }
        try await group.rotateIfNeeded(every: interval)
        try await keepChain(of: group)
    }

    /// Adds the work done to `report`, even if the round ends with an error.
    private func round(_ keys: GroupKeys, _ report: inout SyncReport) async throws -> [SyncError] {
        if keys.isReader {
            let failures = try await receive(keys, &report).failures
            // It may lack the key for objects that it cannot read.
            if !failures.isEmpty { _ = try keys.currentKey() }
            return failures
        }
        let outbox = Outbox(database: database, capture: capture, store: store)
        try await findOtherCopy(keys)
        try await outbox.seal(keys, evenPositionsAlone: try await isPositionsDay(keys))
        try await send(outbox, keys, &report)
        let outcome = try await receive(keys, &report)
        if outcome.isSettled { try await completeRows(keys) }
        // Local writes made meanwhile, and changes that waited for the others' logs.
        try await outbox.seal(keys, evenPositionsAlone: false)
        try await send(outbox, keys, &report)
        if outcome.failures.allSatisfy(\.isOfALog), outcome.hasRightBatches {
            let writing = SnapshotWriting(
                database: database, capture: capture, keys: keys, store: store, policy: policy)
            let isWritten = try await writing.runIfDue(evenIfSmall: outcome.lacksSnapshot) {
                try await send(outbox, keys, &report)
            }
            report.hasWrittenSnapshot = isWritten || report.hasWrittenSnapshot
        }
        return outcome.failures
    }

    private func send(
        _ outbox: Outbox, _ keys: GroupKeys, _ report: inout SyncReport
    ) async throws {
        do {
            let before = report.sentBatches
            defer { if report.sentBatches > before { owesMark.set(true) } }
            try await outbox.upload(keys, &report.sentBatches)
        }
        guard owesMark.isOn else { return }
        do {
            try await store.setMark(ofGroup: keys.group)
        } catch let error as SyncError where !error.isTransient {
            // Only a hint to the others; without it they check later.
        }
        owesMark.set(false)
    }

    /// Applies changes that others sent.
    func receive(_ keys: GroupKeys, _ report: inout SyncReport) async throws -> Inbox.Outcome {
        var inbox = Inbox(database, capture, store, keys)
        defer {
            report.appliedTransactions += inbox.outcome.transactions
            report.appliedRows += inbox.outcome.rows
        }
        try await inbox.run()
        return inbox.outcome
    }

    /// Once a day a member sends acknowledgements, even if it has written nothing.
    private func isPositionsDay(_ keys: GroupKeys) async throws -> Bool {
        let day: UInt64 = 24 * 3_600_000
        return try await database.read { [capture] db in
            guard let place = try SyncJournal(db).place() else { return false }
            // The second condition: a clock that was ahead is correct again.
            let now = try capture.machineTime(in: db)
            return place.published + day < now || place.published > now + day
        }
    }

    func waitingMarks() async throws -> Int64? {
        try await database.read { [capture] in try capture.waitingMarks(in: $0) }
    }

    // MARK: - The status

    private func noteSuccess() async throws {
        try await noteWork {
            $0.phase = .idle
            ($0.failure, $0.nextTry) = (nil, nil)
            $0.completeAt = Date()
        }
    }

    private func noteFailure(_ error: any Error) async throws {
        try await noteWork {
            $0.phase = .failed
            $0.failure = error
        }
    }

    private func noteWork(_ change: @Sendable (inout SyncStatus) -> Void) async throws {
        let (waiting, new) = try await database.read { db in
            (try SyncJournal(db).outgoingSize(), try SyncJournal(db).newMembers().count)
        }
        changes.update {
            ($0.waitingBatches, $0.waitingBytes) = waiting
            $0.newMembers = new
            change(&$0)
        }
    }
}
