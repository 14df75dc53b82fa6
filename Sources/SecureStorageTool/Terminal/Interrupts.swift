internal import CSecureStoragePlatform
internal import Foundation

/// Handles Ctrl-C: in the shell it ends the statement or the line, not the program; elsewhere it
/// ends long operations cleanly.
///
/// A mirror also handles the system's signal to stop.
enum Interrupts {
    // nonisolated(unsafe): a single word, written by the main thread and by the signal handler that
    // interrupts it.
    nonisolated(unsafe) private static var count: sig_atomic_t = 0
    nonisolated(unsafe) private static var pipeEnd: Int32 = -1

    /// Whether Ctrl-C has been pressed since ``clear()``.
    static var hasCome: Bool { count != 0 }

    /// Whether Ctrl-C is handled here.
    static var areCaught: Bool { pipeEnd >= 0 }

    static func clear() { count = 0 }

    /// Calls `body`, on a separate thread, for each Ctrl-C from now on.
    static func call(_ body: @escaping @Sendable () -> Void) throws {
        // A handler may do almost nothing; a byte in a pipe wakes a thread without that
        // restriction.
        try call(for: [SIGINT], body) { _ in Interrupts.note() }
    }

    /// Calls `body`, on a separate thread, when the user or the system wants the program to stop;
    /// a second signal ends the program at once.
    static func callAtStop(_ body: @escaping @Sendable () -> Void) throws {
        // What the parent ignores, as a shell does for a command in the background, stays ignored.
        let signals = [SIGINT, SIGTERM].filter { cplatform_is_ignored($0) == 0 }
        try call(for: signals, body) { signal in
            guard Interrupts.count == 0 else { _exit(128 + signal) }
            Interrupts.note()
        }
    }

    private static func note() {
        let error = errno
        count = 1
        var byte: UInt8 = 0
        _ = write(pipeEnd, &byte, 1)
        errno = error
    }

    private static func call(
        for signals: [Int32], _ body: @escaping @Sendable () -> Void,
        _ handler: @escaping @convention(c) (Int32) -> Void
    ) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure.system("signals cannot be caught") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        pipeEnd = ends[1]
        let readEnd = ends[0]
        Thread.startWithoutSignals {
            var bytes = [UInt8](repeating: 0, count: 64)
            while read(readEnd, &bytes, bytes.count) > 0 { body() }
        }
        for signal in signals {
            // A read for the next line must return.
            guard cplatform_catch(signal, handler, nil) == 0 else {
                throw Failure.system("signals cannot be caught")
            }
        }
    }
}
