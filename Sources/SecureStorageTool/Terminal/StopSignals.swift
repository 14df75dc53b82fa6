internal import CSecureStoragePlatform
internal import Foundation

/// Ends long work cleanly at Ctrl-C, SIGTERM and SIGHUP: the work stops, its unfinished files are
/// removed, and the status is 128 plus the signal's number.
enum StopSignals {
    // nonisolated(unsafe): read and written atomically; the handler runs on the thread that the
    // signal interrupts.
    nonisolated(unsafe) private static let signal: UnsafeMutablePointer<Int32> = {
        let signal = UnsafeMutablePointer<Int32>.allocate(capacity: 1)
        signal.initialize(to: 0)
        return signal
    }()

    /// The signal that has come, or 0.
    private static var caught: Int32 { cplatform_load(signal) }

    /// Catches the signals from now on; a second one ends the program at once.
    static func catchAll() throws {
        // Before a handler can run, which must not allocate.
        _ = caught
        // What the parent ignores, as under nohup, stays ignored.
        for signal in [SIGINT, SIGTERM, SIGHUP] where cplatform_is_ignored(signal) == 0 {
            let handler: @convention(c) (Int32) -> Void = { signal in
                guard StopSignals.caught == 0 else { _exit(128 + signal) }
                cplatform_store(StopSignals.signal, signal)
            }
            guard cplatform_catch(signal, handler, nil) == 0 else {
                throw Failure.system("signals cannot be caught")
            }
        }
    }

    /// Whether one of the signals has come.
    static var hasCome: Bool { caught != 0 }

    /// - Throws: the failure of work that a signal has ended.
    static func check(_ message: String = "interrupted; nothing was changed") throws {
        if hasCome { throw Failure(message, .signal(caught)) }
    }

    /// Runs work that reports no progress for long, such as a statement, and calls `interrupt`, on
    /// another thread, as long as a signal has come and the work has not ended.
    static func interrupting<R>(
        _ interrupt: @escaping @Sendable () -> Void, _ work: () throws -> R
    ) throws -> R {
        try catchAll()
        let end = DispatchSemaphore(value: 0)
        Thread.startWithoutSignals {
            while end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
                if hasCome { interrupt() }
            }
        }
        defer { end.signal() }
        do {
            return try work()
        } catch {
            // Work that has looked itself says more.
            if (error as? Failure)?.status != 128 + caught { try check() }
            throw error
        }
    }
}

extension Thread {
    /// Runs `body` on a new thread that gets no signals, so that they end the reads of others.
    ///
    /// Not on one of Dispatch's, which need `/proc`: without it they end the program.
    static func startWithoutSignals(_ body: @escaping @Sendable () -> Void) {
        detachNewThread {
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_BLOCK, &all, nil)
            body()
        }
    }
}
