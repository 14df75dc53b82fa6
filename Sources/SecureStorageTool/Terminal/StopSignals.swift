internal import CSecureStoragePlatform
internal import Foundation

/// Ends long work cleanly at Ctrl-C, SIGTERM and SIGHUP: the work stops, what it has begun is
/// removed, and the status is 128 plus the signal's number.
enum StopSignals {
    // nonisolated(unsafe): a single word, written by the main thread and by the signal handler that
    // interrupts it.
    nonisolated(unsafe) private static var caught: sig_atomic_t = 0

    /// Catches the signals from now on; a second one ends the program at once.
    static func catchAll() throws {
        // What the parent ignores, as under nohup, stays ignored.
        for signal in [SIGINT, SIGTERM, SIGHUP] where cplatform_is_ignored(signal) == 0 {
            let handler: @convention(c) (Int32) -> Void = { signal in
                guard StopSignals.caught == 0 else { _exit(128 + signal) }
                StopSignals.caught = signal
            }
            guard cplatform_catch(signal, handler, nil) == 0 else {
                throw Failure.system("signals cannot be caught")
            }
        }
    }

    /// Whether one of the signals has come.
    static var hasCome: Bool { caught != 0 }

    /// - Throws: the failure of work that a signal has ended.
    static func check() throws {
        if hasCome { throw Failure("interrupted; nothing was changed", .signal(caught)) }
    }

    /// Runs work that reports no progress for long, such as a statement, and calls `interrupt`, on
    /// another thread, as long as a signal has come and the work has not ended.
    static func interrupting<R>(
        _ interrupt: @escaping @Sendable () -> Void, _ work: () throws -> R
    ) throws -> R {
        try catchAll()
        let timer = DispatchSource.makeTimerSource()
        timer.schedule(deadline: .now(), repeating: .milliseconds(50))
        timer.setEventHandler { if hasCome { interrupt() } }
        timer.resume()
        defer { timer.cancel() }
        do {
            return try work()
        } catch {
            try check()
            throw error
        }
    }
}
