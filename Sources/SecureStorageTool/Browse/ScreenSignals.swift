internal import CSecureStoragePlatform
internal import Foundation

/// Signals as bytes in a pipe, for a loop that waits for keys as well.
enum ScreenSignals {
    // nonisolated(unsafe): written once, before the first signal.
    nonisolated(unsafe) private static var pipeEnd: Int32 = -1

    static let ending = [SIGINT, SIGTERM, SIGHUP, SIGQUIT]
    static let others = [SIGWINCH, SIGCONT, SIGTSTP]

    /// Catches the signals, and returns the end of the pipe to be read.
    static func catchAll() throws -> Int32 {
        let (readEnd, writeEnd) = try wakePipe()
        pipeEnd = writeEnd
        // What the parent ignores stays ignored.
        for signal in ending + others where cplatform_is_ignored(signal) == 0 {
            try catchOne(signal)
        }
        return readEnd
    }

    static func catchOne(_ signal: Int32) throws {
        let result = cplatform_catch(
            signal,
            { number in
                let error = errno
                var byte = UInt8(truncatingIfNeeded: number)
                _ = write(ScreenSignals.pipeEnd, &byte, 1)
                errno = error
            }, nil)
        guard result == 0 else { throw Failure.system("signals cannot be caught") }
    }

    /// Returns the two ends of a pipe that never blocks.
    static func wakePipe() throws -> (Int32, Int32) {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure.system("a pipe cannot be made") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        return (ends[0], ends[1])
    }

    /// Stops the processes of the terminal's foreground, as Ctrl-Z does; returns when they resume.
    static func stop() throws {
        guard cplatform_is_ignored(SIGTSTP) == 0 else { return }
        _ = signal(SIGTSTP, SIG_DFL)
        // The shell sees all processes of a pipe stop, or does not see that one has.
        kill(0, SIGTSTP)
        try catchOne(SIGTSTP)
    }
}
