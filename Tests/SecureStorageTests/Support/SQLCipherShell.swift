import Foundation

/// The `sqlcipher` shell that Scripts/setup installs: another program's view of a file.
struct SQLCipherShell {
    static var isInstalled: Bool { ChildProcess.find("sqlcipher") != nil }

    /// The lines of the last run's standard output.
    let lines: [String]
    /// What it wrote to standard error.
    let errors: String

    /// Runs `script` on the file at `path`, keyed with `key` (a passphrase, or `x'…'` for a raw
    /// key; nil for none) and then set up with the pragmas of `settings`.
    ///
    /// Everything goes through standard input: arguments are readable for all users.
    init(
        _ path: String, key: String?, settings: [String] = [], _ script: String
    ) throws {
        var input = ""
        if let key {
            // Both as SQLCipher's manual has them.
            input +=
                key.hasPrefix("x'")
                ? "PRAGMA key = \"\(key)\";\n"
                : "PRAGMA key = '\(key.replacingOccurrences(of: "'", with: "''"))';\n"
        }
        for setting in settings { input += "PRAGMA \(setting);\n" }
        // What comes before this line are the answers of the pragmas.
        // No statement: of a script that brings its own key, the file is not read before that.
        input += ".print '\(Self.separator)'\n" + script + "\n"
        let process = try ChildProcess("sqlcipher", ["-batch", "-bail", path], input: input)
        let all = process.output.split(separator: "\n", omittingEmptySubsequences: false)
        let start = all.firstIndex { $0 == Self.separator }.map { $0 + 1 } ?? all.endIndex
        lines = all[start...].dropLast().map(String.init)
        errors = process.errors
    }

    private static let separator = "-- script --"
}

extension Data {
    /// Hexadecimal digits, as in SQL's `X'…'` and SQLCipher's `x'…'`.
    var hex: String { map { String(format: "%02x", $0) }.joined() }
}
