internal import Foundation

/// The typed statements and commands, in memory for the up key, and in a file only if the user
/// names one, because statements contain data.
///
/// Those that may contain a key, and those that begin with a space, are never kept. In the file, a
/// line that begins with a tab continues the entry before it.
final class History {
    /// The restored entries of earlier sessions, the oldest first.
    let entries: [String]
    /// The descriptor, or -1 for none.
    private let file: Int32

    private static let longest = 1000

    /// - Parameter path: The file, created with mode 0600 if it is missing; nil for none.
    /// - Throws: `Failure` when the path cannot be a history file.
    init(_ path: String?) throws {
        guard let path else {
            (file, entries) = (-1, [])
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
            entries = Self.entries(text).suffix(Self.longest)
        } catch {
            close(file)
            throw error
        }
    }

    deinit { if file >= 0 { close(file) } }

    /// Adds a statement, or a command.
    ///
    /// - Returns: Whether it may be recalled.
    func add(_ entry: String) -> Bool {
        guard !entry.hasPrefix(" "), !Self.mayHoldKey(entry) else { return false }
        if file >= 0 {
            // The shell works without the file, so a failed write is not an error.
            let text = Array((entry.replacing("\n", with: "\n\t") + "\n").utf8)
            _ = write(file, text, text.count)
        }
        return true
    }

    private static func entries(_ text: String) -> [String] {
        var entries: [String] = []
        for line in text.split(separator: "\n") {
            if line.hasPrefix("\t"), let last = entries.popLast() {
                entries.append(last + "\n" + line.dropFirst())
            } else {
                entries.append(String(line))
            }
        }
        return entries
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
