internal import Foundation

/// The typed lines, in memory for the up key, and in a file only if the user names one, because
/// statements contain data.
///
/// Lines that may contain a key, and lines that begin with a space, are never kept.
final class History {
    /// The restored lines of earlier sessions, the oldest first.
    let lines: [String]
    /// The descriptor, or -1 for none.
    private let file: Int32

    private static let longest = 1000

    /// - Parameter path: The file, created with mode 0600 if it is missing; nil for none.
    /// - Throws: `Failure` when the path cannot be a history file.
    init(_ path: String?) throws {
        guard let path else {
            (file, lines) = (-1, [])
            return
        }
        let what = "the history cannot be kept in \"\(path)\""
        file = open(
            path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard file >= 0 else { throw Failure.system(what) }
        do {
            var status = stat()
            guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
                throw Failure("\(what): it is not a regular file")
            }
            let content = try FileHandle(fileDescriptor: file).readToEnd() ?? Data()
            // A mistyped name, such as that of a database.
            guard !content.contains(0), let text = String(data: content, encoding: .utf8) else {
                throw Failure("\(what): it contains something other than lines of text")
            }
            // Also for a file that was created otherwise.
            guard fchmod(file, 0o600) == 0 else { throw Failure.system(what) }
            lines = text.split(separator: "\n").suffix(Self.longest).map { String($0) }
        } catch {
            close(file)
            throw error
        }
    }

    deinit { if file >= 0 { close(file) } }

    /// Adds the lines of a statement, or a command.
    ///
    /// - Returns: Whether they may be recalled.
    func add(_ lines: [String]) -> Bool {
        guard lines.first?.hasPrefix(" ") == false,
            !Self.mayHoldKey(lines.joined(separator: "\n"))
        else { return false }
        if file >= 0 {
            // The shell works without the file, so a failed write is not an error.
            let text = Array(lines.map { $0 + "\n" }.joined().utf8)
            _ = write(file, text, text.count)
        }
        return true
    }

    /// Returns whether SQL may contain a key: `PRAGMA key`, `rekey`, `hexkey`, `ATTACH … KEY`, even
    /// misspelt.
    ///
    /// Errs on the side of safety.
    static func mayHoldKey(_ sql: String) -> Bool {
        let text = sql.lowercased()
        guard text.contains("key") else { return false }
        if text.contains("pragma") || text.contains("attach") { return true }
        // A word such as KEY, followed by a literal.
        return text.range(
            of: #"key\w*[\s=(]*(x?'|")"#, options: .regularExpression) != nil
    }
}
