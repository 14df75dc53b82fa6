internal import Foundation

/// What was typed in earlier sessions: `$XDG_STATE_HOME/securestorage/history`, mode 0600.
///
/// A statement that may spell out a key never gets there.
struct History {
    private static let longest = 1000
    private let path: String?

    init() {
        let environment = ProcessInfo.processInfo.environment
        let state =
            environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 : nil }
            ?? environment["HOME"].map { $0 + "/.local/state" }
        path = state.map { $0 + "/securestorage/history" }
    }

    /// The lines of earlier sessions, the oldest first.
    func lines() -> [String] {
        guard let path, let text = try? String(contentsOfFile: path, encoding: .utf8) else {
            return []
        }
        let lines = text.split(separator: "\n").map { String($0) }
        guard lines.count > 2 * Self.longest else { return lines }
        let last = Array(lines.suffix(Self.longest))
        // A history that cannot be cut stays long.
        unlink(path)
        append(last)
        return last
    }

    /// Adds lines, unless they may hold a key.
    ///
    /// - Returns: Whether they may be shown again.
    func add(_ lines: [String]) -> Bool {
        guard !Self.mayHoldKey(lines.joined(separator: "\n")) else { return false }
        append(lines)
        return true
    }

    /// Without a history the shell works as well, so nothing that fails here is an error.
    private func append(_ lines: [String]) {
        guard let path else { return }
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
        try? FileManager.default.createDirectory(
            at: directory, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        let file = open(
            path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard file >= 0 else { return }
        defer { close(file) }
        // Also of one that somebody else has made.
        guard fchmod(file, 0o600) == 0 else { return }
        let text = Array(lines.map { $0 + "\n" }.joined().utf8)
        _ = write(file, text, text.count)
    }

    /// Whether SQL may spell out a key: `PRAGMA key`, `rekey`, `hexkey`, `ATTACH … KEY`, also misspelt.
    ///
    /// Errs on the safe side.
    static func mayHoldKey(_ sql: String) -> Bool {
        let text = sql.lowercased()
        guard text.contains("key") else { return false }
        if text.contains("pragma") || text.contains("attach") { return true }
        // A word such as KEY with a literal behind it.
        return text.range(
            of: #"key\w*[\s=(]*(x?'|")"#, options: .regularExpression) != nil
    }
}
