import Foundation
import TestSupport
import Testing

/// The program in a separate terminal, as a user would run it, made by `script`.
final class PseudoTerminal: @unchecked Sendable {
    // @unchecked: `seen` and `received` are only touched under `lock`.
    private let lock = NSLock()
    private var seen = ""
    private var received = Data()
    private let size: (columns: Int, lines: Int)
    private let process: pid_t
    /// The program's status, once it has ended.
    private let ended = Gathered<Int32>()
    private let input = Pipe()
    private let output = Pipe()

    /// Whether terminals can be made; some containers lack the system's `/dev/ptmx`.
    static let isAvailable: Bool = {
        let terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY)
        guard terminal >= 0 else { return false }
        close(terminal)
        return FileManager.default.isExecutableFile(atPath: "/usr/bin/script")
    }()

    /// Runs a shell script in `workspace`, with `securestorage` in its path.
    init(_ workspace: Workspace, _ script: String, columns: Int = 80, lines: Int = 24) throws {
        size = (columns, lines)
        let file = workspace.file("terminal-\(UUID().uuidString).sh")
        let directory = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path
        // The terminal that `script` makes has no size.
        try """
        stty cols \(columns) rows \(lines)
        export PATH=\(directory):$PATH TERM=xterm XDG_STATE_HOME=\(workspace.path)/state
        cd \(workspace.path)
        \(script)
        echo "[status $?]"
        """.write(toFile: file, atomically: true, encoding: .utf8)
        #if canImport(Darwin)
            let arguments = ["-q", "/dev/null", "/bin/bash", file]
        #else
            let arguments = ["-qc", "/bin/bash \(file)", "/dev/null"]
        #endif
        let (reading, writing) = (input.fileHandleForReading, output.fileHandleForWriting)
        process = try ChildProcess.start(
            ["/usr/bin/script"] + arguments, ProcessInfo.processInfo.environment,
            [reading.fileDescriptor, writing.fileDescriptor, writing.fileDescriptor])
        // At once: while an ended program is not waited for, exit tests are not seen to end.
        Thread.detachNewThread { [process, ended] in
            var status: Int32 = 0
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            ended.add(status)
        }
        try reading.close()
        try writing.close()
        output.fileHandleForReading.readabilityHandler = { [weak self] handle in
            let data = handle.availableData
            if data.isEmpty {
                handle.readabilityHandler = nil
            } else {
                self?.add(data)
            }
        }
    }

    deinit {
        if ended.values.isEmpty { kill(process, SIGTERM) }
    }

    private func add(_ data: Data) {
        lock.withLock {
            seen += String(decoding: data, as: UTF8.self)
            received += data
        }
    }

    /// Returns what the terminal shows, with another size if it was changed.
    func shown(columns: Int? = nil, lines: Int? = nil) -> TerminalScreen {
        TerminalScreen(
            lock.withLock { received }, columns: columns ?? size.columns,
            lines: lines ?? size.lines)
    }

    /// Waits until the screen is as `condition` says.
    @discardableResult
    func wait(
        _ what: String, columns: Int? = nil, lines: Int? = nil, within seconds: Double = 120,
        sourceLocation: SourceLocation = #_sourceLocation,
        until condition: ([String]) -> Bool
    ) throws -> [String] {
        let end = Date() + seconds
        while Date() < end {
            let shown = shown(columns: columns, lines: lines).lines
            if condition(shown) { return shown }
            usleep(10_000)
        }
        let shown = shown(columns: columns, lines: lines).lines
        Issue.record(
            "\(what) is not shown:\n\(shown.joined(separator: "\n"))",
            sourceLocation: sourceLocation)
        throw CancellationError()
    }

    /// The terminal's output that `expect` has not consumed.
    var screen: String { lock.withLock { seen } }

    /// Waits until the terminal shows `text`, and consumes the output up to its end.
    @discardableResult
    func expect(
        _ text: String, within seconds: Double = 120,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws -> String {
        let end = Date() + seconds
        while Date() < end {
            let found: String? = lock.withLock {
                guard let range = seen.range(of: text) else { return nil }
                let before = String(seen[..<range.lowerBound])
                seen = String(seen[range.upperBound...])
                return before
            }
            if let found { return found }
            usleep(5_000)
        }
        Issue.record("no \(text) in: \(screen)", sourceLocation: sourceLocation)
        throw CancellationError()
    }

    func send(_ text: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data(text.utf8))
    }

    /// Types a line.
    func type(_ line: String) { send(line + "\r") }

    /// Ends the shell with Ctrl-D and waits for its status, which must be 0.
    ///
    /// A key that comes while a statement runs is handled by the terminal itself, which turns a
    /// Ctrl-D into a NUL. Each further attempt clears the line with Ctrl-U first.
    func leave(sourceLocation: SourceLocation = #_sourceLocation) throws {
        for attempt in 0..<100 where !screen.contains("[status ") {
            send(attempt == 0 ? "\u{4}" : "\u{15}\u{4}")
            let end = Date() + 0.3
            while Date() < end, !screen.contains("[status ") { usleep(5_000) }
        }
        try expect("[status 0]", within: 1, sourceLocation: sourceLocation)
    }

    static let controlC = "\u{3}"
}
