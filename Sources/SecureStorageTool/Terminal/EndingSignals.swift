internal import CSecureStoragePlatform
internal import Foundation

/// Holds terminating signals of other processes until the terminal is restored.
struct EndingSignals {
    // nonisolated(unsafe): a single word, written by the handler, which interrupts the main thread.
    nonisolated(unsafe) private static var caught: sig_atomic_t = 0
    private var blockedBefore = sigset_t()

    /// Runs `body` with the signals blocked except in `wait`: one that came between a look for it
    /// and a read would not end the read.
    static func whileHeld<R>(_ body: (EndingSignals) throws -> R) rethrows -> R {
        let signals = [SIGTERM, SIGHUP]
        var held = EndingSignals()
        var blocked = sigset_t()
        sigemptyset(&blocked)
        for signal in signals { sigaddset(&blocked, signal) }
        pthread_sigmask(SIG_BLOCK, &blocked, &held.blockedBefore)
        var actions = signals.map { _ in sigaction() }
        for (index, signal) in signals.enumerated() {
            cplatform_catch(signal, { EndingSignals.caught = $0 }, &actions[index])
        }
        defer {
            for (index, signal) in signals.enumerated() { sigaction(signal, &actions[index], nil) }
            pthread_sigmask(SIG_SETMASK, &held.blockedBefore, nil)
        }
        return try body(held)
    }

    /// Waits for bytes.
    ///
    /// - Throws: `Failure` with the status of a program that the signal ended.
    func wait(for descriptor: Int32) throws {
        while try !waitOnce(for: descriptor) {}
    }

    /// Waits for bytes, or for a signal that does not end the program; then this returns false.
    ///
    /// - Throws: `Failure` with the status of a program that the signal ended.
    func waitOnce(for descriptor: Int32) throws -> Bool {
        var blocked = blockedBefore
        if cplatform_wait(descriptor, &blocked) == 0 { return true }
        let error = errno
        if Self.caught != 0 { throw Failure("ended", .signal(Self.caught)) }
        errno = error
        guard error == EINTR else { throw Failure.system("the terminal cannot be read", .noKey) }
        return false
    }
}
