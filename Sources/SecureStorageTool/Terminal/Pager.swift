internal import Foundation
internal import SecureStoragePlatform

/// A program that shows text longer than the screen page by page, such as `less`.
///
/// It starts when the text no longer fits on the screen; until then the text is held back.
final class Pager {
    /// The user has left the pager before the end of the text.
    struct WasLeft: Error {}

    private let command: String
    private let descriptor: Int32
    private let columns: Int
    private let rows: Int
    private var held: [UInt8] = []
    private var heldRows = 0
    private var heldColumns = 0
    private var process: pid_t?
    private var pipeEnd: Descriptor?
    private var wasLeft = false

    /// Returns the pager that a user gets: `PAGER`, else `less -R` where there is one; nil for
    /// none.
    static func usual(_ environment: [String: String]) -> String? {
        guard environment["TERM"] ?? "dumb" != "dumb" else { return nil }
        if let pager = environment["PAGER"] {
            return pager.allSatisfy(\.isWhitespace) || pager == "cat" ? nil : pager
        }
        let folders = (environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.contains { access("\($0)/less", X_OK) == 0 } ? "less -R" : nil
    }

    /// - Parameters:
    ///   - command: A command of `sh`.
    ///   - descriptor: The terminal.
    init(_ command: String, for descriptor: Int32) {
        self.command = command
        self.descriptor = descriptor
        (columns, rows) = Terminal.size(of: descriptor) ?? (80, 24)
    }

    /// - Throws: ``WasLeft``; `Failure` when the pager cannot be started.
    func write(_ bytes: [UInt8]) throws {
        guard !wasLeft else { throw WasLeft() }
        if process == nil {
            held += bytes
            for byte in bytes { count(byte) }
            // The prompt needs a row, too.
            guard heldRows >= rows else { return }
            try start()
            let all = held
            held = []
            return try send(all)
        }
        try send(bytes)
    }

    /// Shows a short text on the terminal; waits until the user has left the pager otherwise.
    func finish() throws {
        guard let process else {
            let bytes = held
            held = []
            return try bytes.withUnsafeBytes { try Descriptor(borrowing: descriptor).write($0) }
        }
        pipeEnd = nil
        self.process = nil
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        signal(SIGPIPE, SIG_DFL)
        // Those of `sh` for a command that is not there, or is none.
        let code = status & 0x7f == 0 ? status >> 8 & 0xff : 0
        if code == 126 || code == 127 {
            throw Failure(
                "the pager \"\(command)\" cannot be run",
                hint: "set PAGER to another one; .pager off shows results without")
        }
    }

    private func count(_ byte: UInt8) {
        if byte == UInt8(ascii: "\n") {
            heldRows += 1
            heldColumns = 0
        } else if byte & 0xc0 != 0x80 {
            heldColumns += 1
            if heldColumns > columns {
                heldRows += 1
                heldColumns = 1
            }
        }
    }

    private func send(_ bytes: [UInt8]) throws {
        guard let pipeEnd else { throw WasLeft() }
        do {
            try bytes.withUnsafeBytes { try pipeEnd.write($0) }
        } catch let error as SystemError {
            wasLeft = true
            guard error.code == EPIPE else { throw Failure("cannot write: \(error.reason)") }
            throw WasLeft()
        }
    }

    private func start() throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw Failure.system("the pager cannot be started") }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let writing = Descriptor(owning: ends[1])
        var environment = ProcessInfo.processInfo.environment
        // What a user searches for in rows is as secret as they are.
        environment["LESSHISTFILE"] = "-"
        // A pager that is left early must not end this program.
        signal(SIGPIPE, SIG_IGN)
        do {
            process = try ChildCommand.start(command, input: ends[0], environment)
        } catch {
            signal(SIGPIPE, SIG_DFL)
            throw error
        }
        pipeEnd = writing
    }
}

/// A command of `sh`, in the foreground of the same terminal.
private enum ChildCommand {
    static func start(
        _ command: String, input: Int32, _ environment: [String: String]
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGPIPE)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        let words: [String] = ["sh", "-c", command]
        let arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) } + [nil]
        let variables: [UnsafeMutablePointer<CChar>?] =
            environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + variables { free(text) } }
        var process: pid_t = 0
        let code = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, variables)
        guard code == 0 else {
            throw Failure("the pager cannot be started: \(String(cString: strerror(code)))")
        }
        return process
    }
}
