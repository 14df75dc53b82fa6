import Foundation
import ExampleSupport

/// A shell in a terminal of its own, made by `script`, and what its screen shows.
final class Terminal: @unchecked Sendable {
    // @unchecked: `received` is only touched under `lock`.
    private let lock = NSLock()
    private var received = Data()
    private let process: pid_t
    private let input = Pipe()
    private let output = Pipe()
    /// Where the transcript that runs begins.
    private var start = 0

    /// Whether terminals can be made; some containers lack the system's `/dev/ptmx`.
    static let isAvailable: Bool = {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return FileManager.default.isExecutableFile(atPath: "/usr/bin/script")
    }()

    static let prompt = "$ "

    /// Starts a shell.
    ///
    /// - Parameters:
    ///   - folder: Its working directory.
    ///   - commands: What it runs before it shows its first prompt.
    /// - Throws: An error if the shell cannot be started.
    init(in folder: URL, after commands: [String]) throws {
        let settings = folder.deletingLastPathComponent()
            .appendingPathComponent("shell-\(UUID().uuidString)")
        // No core dumps, and the messages that transcripts have.
        try """
        PS1='\(Self.prompt)'
        export TERM=dumb LC_ALL=C.UTF-8
        unset HISTFILE
        ulimit -c 0
        cd '\(folder.path)'
        \(commands.joined(separator: "\n"))
        """.write(to: settings, atomically: true, encoding: .utf8)
        let (reading, writing) = (input.fileHandleForReading, output.fileHandleForWriting)
        process = try ChildProcess.start(
            [
                "/usr/bin/script", "-qc", "bash --noediting --rcfile '\(settings.path)' -i",
                "/dev/null",
            ],
            ProcessInfo.processInfo.environment,
            [reading.fileDescriptor, writing.fileDescriptor, writing.fileDescriptor])
        // At once: while an ended program is not waited for, exit tests are not seen to end.
        Thread.detachNewThread { [process] in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
        }
        try reading.close()
        try writing.close()
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty { handle.readabilityHandler = nil }
            self?.lock.withLock { self?.received += data }
        }
    }

    /// Ends the shell and what runs in it: a shell that loses its terminal gets SIGHUP.
    func leave() { try? input.fileHandleForWriting.close() }

    /// Begins a transcript: what the screen shows from the shell's prompt on.
    func begin() {
        lock.withLock { start = max(0, received.count - Self.prompt.utf8.count) }
    }

    func send(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// The lines since the transcript's begin, as a person sees them.
    var screen: String {
        let data = lock.withLock { received.dropFirst(start) }
        return Self.shown(String(decoding: data, as: UTF8.self))
    }

    /// Waits until the screen shows `text`, in which `…` stands for anything within a line.
    ///
    /// - Returns: Whether it does, within the time.
    func shows(_ text: String, within seconds: Double = 60) throws -> Bool {
        let escaped = text.components(separatedBy: "…").map(NSRegularExpression.escapedPattern)
        let pattern = try Regex("(?:" + escaped.joined(separator: "[^\\n]*") + ")")
        let end = Date() + seconds
        repeat {
            if try pattern.wholeMatch(in: screen) != nil { return true }
            usleep(5_000)
        } while Date() < end
        return false
    }

    /// Returns text as it is on the screen, where a carriage return goes back to the beginning
    /// of its line; without the library's log, which depends on the engine.
    private static func shown(_ text: String) -> String {
        var lines: [[Unicode.Scalar]] = [[]]
        var column = 0
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\r": column = 0
            case "\n":
                lines.append([])
                column = 0
            default:
                let last = lines.count - 1
                if column < lines[last].count {
                    lines[last][column] = scalar
                } else {
                    lines[last].append(scalar)
                }
                column += 1
            }
        }
        return lines.map { String(String.UnicodeScalarView($0)) }
            .filter { !$0.contains(/^\d{4}-\d\d-\d\dT[^ ]+ (warning|notice) SecureStorage/) }
            .joined(separator: "\n")
    }
}
