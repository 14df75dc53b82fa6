internal import Foundation

// How a pool leaves its file alone. Once a suspension is announced no reader begins; whoever leaves
// the file as the last one, a block or the caller, closes the connections. So nobody waits with the
// writer's turn, in which other blocks wait.

extension PoolConnections {
    /// Waits until no connection to the file is open.
    ///
    /// - Parameters:
    ///   - keepsReads: Whether readers get a copy.
    ///   - grace: How long blocks that run may go on.
    ///   - configuration: The pool's.
    ///   - announce: Called before a suspension begins.
    /// - Returns: Whether that is so now; true for a closed pool.
    /// - Throws: What copying throws; there is no suspension then.
    func suspend(
        keepingReads keepsReads: Bool, grace: Duration,
        _ configuration: SecureDatabaseConfiguration, announcing announce: () -> Void
    ) throws -> Bool {
        let waiter = try announceSuspension(keepingReads: keepsReads, configuration, announce)
        _ = SuspensionWait(grace: grace).wait(for: waiter.end) { forceSuspension(waiter.number) }
        return outcome(of: waiter)
    }

    private func announceSuspension(
        keepingReads keepsReads: Bool, _ configuration: SecureDatabaseConfiguration,
        _ announce: () -> Void
    ) throws -> WaitingSuspension {
        while true {
            let copy = keepsReads ? try copyForReading(configuration) : nil
            if isUnsuspended { announce() }
            if let waiter = announceSuspension(readingFrom: copy, needsCopy: keepsReads) {
                return waiter
            }
            // The suspension that made the copy needless has been ended in the meantime.
        }
    }

    /// Copies the file into the temporary directory, for reading without its locks.
    ///
    /// - Returns: nil when the pool is suspended or closed already.
    private func copyForReading(_ configuration: SecureDatabaseConfiguration) throws -> Reopening? {
        guard let slot = enterForCopying() else { return nil }
        // Until then nobody changes the key.
        defer { leave(slot.place, with: slot.reader) }
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "SecureStorage-\(UUID().uuidString).db")
        let copy = FileCopy(source: slot.source, configuration: configuration, key: nil)
        try copy.write(to: NewFile(at: url, replacing: false)) { _ in }
        return Reopening(
            path: url.path, keys: slot.source.keys, copy: ReadableCopy(path: url.path))
    }

    // MARK: - Steps of it

    /// Begins a suspension, or joins the present one.
    ///
    /// - Parameters:
    ///   - copy: What readers get; nil to refuse them.
    ///   - needsCopy: Whether a suspension without a copy is only joined.
    /// - Returns: What tells of its end; nil when it could only have been joined, and there was
    ///   none.
    func announceSuspension(readingFrom copy: Reopening?, needsCopy: Bool) -> WaitingSuspension? {
        var waiter: WaitingSuspension?
        changeAsLast { state in
            let begins = !state.suspension.isWanted
            if begins, needsCopy, copy == nil, state.phase == .open { return }
            let number = state.announceSuspension(keepingReads: copy != nil)
            if begins, state.keepsReads { self.copy = copy }
            let waiting = WaitingSuspension(number)
            suspending.append(waiting)
            waiter = waiting
        }
        return waiter
    }

    /// Ends the grace of a suspension: statements on the file are refused, and those that run
    /// interrupted.
    func forceSuspension(_ number: Int) {
        change { state in
            state.forceSuspension(number)
            guard state.outcome(ofSuspension: number) == nil else { return }
            // Under the condition: a moment later the suspension may be over, and these others'
            // statements.
            writer.interruption.interrupt(.suspension)
            for case (let interruption, .file) in interruptions {
                interruption.interrupt(.suspension)
            }
        }
    }

    /// How a suspension has ended, whose end is not waited for any more.
    func outcome(of waiter: WaitingSuspension) -> Bool {
        condition.withLock {
            suspending.removeAll { $0 === waiter }
            return waiter.outcome ?? false
        }
    }

    /// Ends a suspension.
    ///
    /// - Returns: Whether there was one.
    func endSuspension() -> Bool {
        // The copy goes when they are closed, and nobody is about to open it.
        let old: (readers: [SecureDatabaseStore], copy: Reopening?)? = change { state in
            let readsCopy = state.place != .file
            guard state.resume() else { return nil }
            defer { copy = nil }
            return (readsCopy ? takeIdle() : [], copy)
        }
        guard let old else { return false }
        withExtendedLifetime(old.copy) {
            for reader in old.readers { reader.close() }
        }
        return true
    }

    /// Whether a suspension would be a new one.
    var isUnsuspended: Bool {
        condition.withLock { state.phase != .closed && !state.suspension.isWanted }
    }
}
