internal import Foundation

// How a pool releases its file. Once a suspension is announced, no reader begins; the last user of
// the file, a block or the caller, closes the connections. So no thread waits while it holds the
// writer's turn, for which other blocks wait.

extension PoolConnections {
    /// Suspends the pool, and waits until no connection to the file is open.
    ///
    /// - Parameters:
    ///   - keepsReads: Whether readers get a copy.
    ///   - grace: How long running blocks may continue.
    ///   - configuration: The pool's configuration.
    ///   - announce: Called before a suspension begins.
    /// - Returns: Whether no connection is open now; true for a closed pool.
    /// - Throws: The error of copying; the pool is not suspended then.
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
            // The suspension that made the copy unnecessary has ended in the meantime.
        }
    }

    /// Copies the file into the temporary directory, to be read without its locks.
    ///
    /// - Returns: nil if the pool is already suspended or closed.
    private func copyForReading(_ configuration: SecureDatabaseConfiguration) throws -> Reopening? {
        guard let slot = enterForCopying() else { return nil }
        // Until then, the key cannot change.
        defer { leave(slot.place, with: slot.reader) }
        let url = FileManager.default.temporaryDirectory.appendingPathComponent(
            "SecureStorage-\(UUID().uuidString).db")
        let copy = FileCopy(source: slot.source, configuration: configuration, key: nil)
        try copy.write(to: NewFile(at: url, replacing: false)) { _ in }
        return Reopening(
            path: url.path, keys: slot.source.keys, copy: ReadableCopy(path: url.path))
    }

    // MARK: - Steps of a suspension

    /// Begins a suspension, or joins the current one.
    ///
    /// - copy: What readers read; nil to refuse them.
    ///   - needsCopy: Whether a call without a copy may only join a suspension.
    ///   - needsCopy: Whether a suspension without a copy is only joined.
    /// - Returns: The waiter for its end; nil if the call could only have joined, and none was
    ///   current.
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

    /// Ends the grace period of a suspension: refuses statements on the file, and interrupts
    /// running ones.
    func forceSuspension(_ number: Int) {
        change { state in
            state.forceSuspension(number)
            guard state.outcome(ofSuspension: number) == nil else { return }
            // Under the condition: a moment later the suspension may be over, and the statements
            // other calls'.
            writer.interruption.interrupt(.suspension)
            for case (let interruption, .file) in interruptions {
                interruption.interrupt(.suspension)
            }
        }
    }

    /// Returns the outcome of a suspension, whose end is no longer waited for.
    func outcome(of waiter: WaitingSuspension) -> Bool {
        condition.withLock {
            suspending.removeAll { $0 === waiter }
            return waiter.outcome ?? false
        }
    }

    /// Ends a suspension.
    ///
    /// - Returns: Whether the pool was suspended.
    func endSuspension() -> Bool {
        // The copy is removed when they are closed, and no thread is about to open it.
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

    /// Whether the next suspension would be a new one.
    var isUnsuspended: Bool {
        condition.withLock { state.phase != .closed && !state.suspension.isWanted }
    }
}
