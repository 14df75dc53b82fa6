internal import CSQLCipher
internal import Foundation
internal import SecureStoragePlatform

/// Waits for the locks of other connections.
extension Connection {
    struct LockWait {
        var began = ContinuousClock.now
        /// Whether the last wait was ended before its time.
        var wasInterrupted = false
    }

    /// Installs a busy handler that waits as long as configured, unless it is interrupted.
    ///
    /// SQLite's own timeout ignores interruptions, cancelled tasks and deadlines.
    func installBusyHandler() throws {
        let code = sqlite3_busy_handler(
            try requireHandle(),
            { connection, count in
                guard let connection else { return 0 }
                let owner = Unmanaged<Connection>.fromOpaque(connection).takeUnretainedValue()
                return owner.keepsWaiting(round: count) ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
        try check(code)
    }

    private var isInterrupted: Bool { handle.map { sqlite3_is_interrupted($0) != 0 } ?? false }

    /// Sleeps for a moment and returns true, if time is left.
    private func keepsWaiting(round: Int32) -> Bool {
        guard !waits.neverWaits else { return false }
        if round == 0 {
            waits.lockWait = LockWait()
            activity.lockWaits += 1
        }
        // An operation that defers interruptions has to complete.
        if interruption?.isPaused != true,
            isInterrupted || waits.watcher?() == true
        {
            waits.lockWait.wasInterrupted = true
            return false
        }
        let left = configuration.busyTimeout - (ContinuousClock.now - waits.lockWait.began)
        guard left > .zero else { return false }
        // Pauses grow, as SQLite's own do, so that many waiters cost little.
        let pauses = [1, 2, 5, 10, 15, 20] as [Int64]
        let pause = pauses.indices.contains(Int(round)) ? pauses[Int(round)] : 25
        let start = MonotonicTime.now
        usleep(UInt32(min(.milliseconds(pause), left) / .microseconds(1)))
        activity.lockWaitTime += MonotonicTime.now - start
        return true
    }

    /// Returns, and forgets, whether `code` reports an interrupted lock wait, which SQLite treats
    /// like one that timed out.
    ///
    /// True once for each such wait: the next code `.busy` may belong to a lock that was not waited
    /// for.
    func takeInterruption(_ code: ResultCode) -> Bool {
        guard code.primary == .busy else { return false }
        defer { waits.lockWait.wasInterrupted = false }
        return waits.lockWait.wasInterrupted
    }

    /// The configured busy timeout in milliseconds.
    var busyMilliseconds: Int32 {
        guard configuration.busyTimeout < .milliseconds(Int64(Int32.max)) else { return Int32.max }
        let parts = configuration.busyTimeout.components
        return Int32(clamping: parts.seconds * 1000 + parts.attoseconds / 1_000_000_000_000_000)
    }
}
