internal import Foundation

/// A new file that takes its name when it is complete: beside it, mode 0600, then renamed.
final class OutputFile {
    let output: Output
    private let path: String
    private let draft: String
    private let replaces: Bool
    private let descriptor: Int32
    private var isFinished = false

    /// - Parameters:
    ///   - path: The name of the file.
    ///   - replaces: Whether a file of the name may go.
    /// - Throws: when there is one that may not go, or none can be made.
    init(_ path: String, replaces: Bool) throws {
        self.path = path
        self.replaces = replaces
        var status = stat()
        if !replaces, lstat(path, &status) == 0 { throw Self.exists(path) }
        let url = URL(fileURLWithPath: path)
        draft =
            url.deletingLastPathComponent()
            .appendingPathComponent(".\(url.lastPathComponent).\(UUID().uuidString)").path
        descriptor = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Failure.system("\"\(path)\" cannot be made") }
        output = Output(descriptor: descriptor)
        RemovedOnSignal.path = strdup(draft)
    }

    deinit {
        close(descriptor)
        if !isFinished { unlink(draft) }
        let name = RemovedOnSignal.path
        RemovedOnSignal.path = nil
        free(name)
    }

    /// Everything is on the disk, under its name, when it returns.
    func finish() throws {
        try output.flush()
        guard fsync(descriptor) == 0 else { throw Failure.system("\"\(path)\" cannot be written") }
        if replaces {
            guard rename(draft, path) == 0 else {
                throw Failure.system("\"\(path)\" cannot be replaced")
            }
            isFinished = true
        } else {
            // Unlike a rename, a link never replaces what has come meanwhile.
            guard link(draft, path) == 0 else {
                throw errno == EEXIST
                    ? Self.exists(path) : Failure.system("\"\(path)\" cannot be made")
            }
        }
        let directory = open(
            URL(fileURLWithPath: path).deletingLastPathComponent().path, O_RDONLY | O_CLOEXEC)
        // Where a directory cannot be synced, the system does it in its own time.
        _ = fsync(directory)
        close(directory)
    }

    private static func exists(_ path: String) -> Failure {
        Failure("there is a \"\(path)\" already", hint: "--force replaces it")
    }
}

/// The file that goes when Ctrl-C or a signal ends the program.
enum RemovedOnSignal {
    nonisolated(unsafe) static var path: UnsafeMutablePointer<CChar>? {
        didSet {
            guard path != nil, oldValue == nil else { return }
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
