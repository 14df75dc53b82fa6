internal import Foundation

/// What was typed: in memory for the up key, and in a file only where the user names one, since
/// statements hold data.
///
/// What may spell out a key, and what begins with a space, is kept nowhere.
final class History {
    /// The lines of earlier sessions that come back, the oldest first.
    let lines: [String]
    /// -1 for none.
    private let file: Int32

    private static let longest = 1000

    /// - Parameter path: The file, made with mode 0600 when it is missing; nil for none.
    /// - Throws: `Failure` for what cannot be such a file.
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
                throw Failure("\(what): it is no file")
            }
            let content = try FileHandle(fileDescriptor: file).readToEnd() ?? Data()
            // A name that was mistyped, of a database for instance.
            guard !content.contains(0), let text = String(data: content, encoding: .utf8) else {
                throw Failure("\(what): it holds something else than lines of text")
            }
            // Also of one that somebody else has made.
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
    /// - Returns: Whether they may be shown again.
    func add(_ lines: [String]) -> Bool {
        guard lines.first?.hasPrefix(" ") == false,
            !Self.mayHoldKey(lines.joined(separator: "\n"))
        else { return false }
        if file >= 0 {
            // Without it the shell works as well, so what fails here is no error.
            let text = Array(lines.map { $0 + "\n" }.joined().utf8)
            _ = write(file, text, text.count)
        }
        return true
    }

    /// Whether SQL may spell out a key: `PRAGMA key`, `rekey`, `hexkey`, `ATTACH … KEY`, also
    /// misspelt.
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
