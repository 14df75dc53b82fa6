internal import Foundation

/// The file that is removed when Ctrl-C or a signal ends the program; setting another path frees
/// the old one.
enum RemovedOnSignal {
    nonisolated(unsafe) static var path: UnsafeMutablePointer<CChar>? {
        didSet {
            free(oldValue)
            guard path != nil, !isInstalled else { return }
            isInstalled = true
            for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) {
                Foundation.signal(signal) { number in
                    // Only async-signal-safe calls here.
                    if let path = RemovedOnSignal.path { unlink(path) }
                    _exit(128 + number)
                }
            }
        }
    }
    // nonisolated(unsafe): written by the main thread, which the handler interrupts.

    nonisolated(unsafe) private static var isInstalled = false

    /// Returns whether a signal is ignored, as under `nohup`.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        // The constant is an integer in place of a function pointer.
        return handler.map { unsafeBitCast($0, to: Int.self) }
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
