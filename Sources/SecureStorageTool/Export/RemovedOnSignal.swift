internal import CSecureStoragePlatform
internal import Foundation

/// The file that is removed when Ctrl-C or a signal ends the program; setting another path frees
/// the old one.
enum RemovedOnSignal {
    // nonisolated(unsafe): written by the main thread, which the handler interrupts.
    nonisolated(unsafe) static var path: UnsafeMutablePointer<CChar>? {
        didSet {
            free(oldValue)
            guard path != nil, !isInstalled else { return }
            isInstalled = true
            for signal in [SIGINT, SIGTERM, SIGHUP] where cplatform_is_ignored(signal) == 0 {
                // In the shell, Ctrl-C ends a statement, not the program.
                if signal == SIGINT, Interrupts.areCaught { continue }
                Foundation.signal(signal) { number in
                    // Only async-signal-safe calls here.
                    if let path = RemovedOnSignal.path { unlink(path) }
                    _exit(128 + number)
                }
            }
        }
    }

    nonisolated(unsafe) private static var isInstalled = false
}
