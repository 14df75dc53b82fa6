internal import Foundation

/// The file that goes when Ctrl-C or a signal ends the program; the name is freed with the next
/// one.
enum RemovedOnSignal {
    nonisolated(unsafe) static var path: UnsafeMutablePointer<CChar>? {
        didSet {
            free(oldValue)
            guard path != nil, !isInstalled else { return }
            isInstalled = true
            for signal in [SIGINT, SIGTERM, SIGHUP] where !isIgnored(signal) {
                Foundation.signal(signal) { number in
                    // Nothing here but what a handler may call.
                    if let path = RemovedOnSignal.path { unlink(path) }
                    _exit(128 + number)
                }
            }
        }
    }
    // nonisolated(unsafe): written by the main thread, which the handler interrupts.

    nonisolated(unsafe) private static var isInstalled = false

    /// As `nohup` has it.
    private static func isIgnored(_ signal: Int32) -> Bool {
        var action = sigaction()
        guard sigaction(signal, nil, &action) == 0 else { return false }
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        // The constant is a number in the place of a function.
        return handler.map { unsafeBitCast($0, to: Int.self) }
            == unsafeBitCast(SIG_IGN, to: Int.self)
    }
}
