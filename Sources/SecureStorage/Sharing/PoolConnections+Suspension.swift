internal import Foundation

// How a pool leaves its file alone. Once a suspension is announced no reader begins; whoever leaves
// the file as the last one, a block or the caller, closes the connections. So nobody waits with the
// writer's turn, in which other blocks wait.

extension PoolConnections {
    /// Waits until no connection to the file is open.
    ///
    /// - Parameters:
    ///   - keepsReads: Whether readers get a copy.
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
}
