internal import CSecureStoragePlatform
internal import Foundation

/// Handles Ctrl-C: in the shell it ends the statement or the line, not the program; elsewhere it
/// ends long operations cleanly.
enum Interrupts {
    // nonisolated(unsafe): a single word, written by the main thread and by the signal handler that
    // interrupts it.
    nonisolated(unsafe) private static var count: sig_atomic_t = 0
    nonisolated(unsafe) private static var pipeEnd: Int32 = -1
    // nonisolated(unsafe): written once, before the first signal.
    nonisolated(unsafe) private static var source: (any DispatchSourceRead)?

    /// Whether Ctrl-C has been pressed since ``clear()``.
    static var hasCome: Bool { count != 0 }

    static func clear() { count = 0 }

    /// Calls `body`, on a separate thread, for each Ctrl-C from now on.
    static func call(_ body: @escaping @Sendable () -> Void) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure.system("Ctrl-C cannot be caught") }
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        pipeEnd = ends[1]
        let readEnd = ends[0]
        let source = DispatchSource.makeReadSource(fileDescriptor: readEnd)
        source.setEventHandler {
            var bytes = [UInt8](repeating: 0, count: 64)
            while read(readEnd, &bytes, bytes.count) > 0 {}
            body()
        }
        source.resume()
        self.source = source
        // A handler may do almost nothing; a byte in a pipe wakes a thread without that
        // restriction.
        let handler: @convention(c) (Int32) -> Void = { _ in
            let error = errno
            Interrupts.count = 1
            var byte: UInt8 = 0
            _ = write(Interrupts.pipeEnd, &byte, 1)
            errno = error
        }
        // A read for the next line must return.
        guard cplatform_catch(SIGINT, handler, nil) == 0 else {
            throw Failure.system("Ctrl-C cannot be caught")
        }
    }
}
