internal import CSQLCipher
internal import Foundation

/// How a connection waits for the locks of others.
extension Connection {
    struct LockWait {
        var began = ContinuousClock.now
        /// Whether the last wait was ended before its time.
        var wasInterrupted = false
    }

    /// Waits as long as the configuration says, unless it is interrupted.
    ///
    /// SQLite's own timeout takes no notice of an interruption, of a cancelled task or a deadline.
    func installBusyHandler() throws {
        let code = sqlite3_busy_handler(
            try requireHandle(),
            { connection, count in
                guard let connection else { return 0 }
                let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                return owner.goesOnWaiting(round: count) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        try check(code)
    }

    private var isInterrupted: Bool { handle.map { sqlite3_is_interrupted($0) != 0 } ?? false }

    /// Sleeps for a moment, when there is time left.
    private func goesOnWaiting(round: Int32) -> Bool {
        guard !neverWaits else { return false }
        if round == 0 { lockWait = LockWait() }
        // What is paused has to run to its end.
        if interruption?.isPaused != true,
            isInterrupted || watcher?() == true
        {
            lockWait.wasInterrupted = true
            return false
        }
        let left = configuration.busyTimeout - (ContinuousClock.now - lockWait.began)
        guard left > .zero else { return false }
        // Longer each time, as SQLite's own, so that many who wait cost little.
        let pauses = [1, 2, 5, 10, 15, 20] as [Int64]
        let pause = pauses.indices.contains(Int(round)) ? pauses[Int(round)] : 25
        usleep(UInt32(min(.milliseconds(pause), left) / .microseconds(1)))
        return true
    }

    /// Whether `code` says that a lock was not waited for to the end, which SQLite takes for one
    /// that was.
    ///
    /// True once for each such wait: the next code 5 may be one that nobody has waited for.
    func isInterruptedWait(_ code: ResultCode) -> Bool {
        guard code.primary == .busy else { return false }
        defer { lockWait.wasInterrupted = false }
        return lockWait.wasInterrupted
    }

    /// The configured busy timeout in milliseconds.
    var busyMilliseconds: Int32 {
        guard configuration.busyTimeout < .milliseconds(Int64(Int32.max)) else { return Int32.max }
        let parts = configuration.busyTimeout.components
        return Int32(clamping: parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000)
    }
}
