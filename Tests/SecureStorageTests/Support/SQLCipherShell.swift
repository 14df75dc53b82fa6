import Foundation
import TestSupport

/// The `sqlcipher` shell that Scripts/setup installs: another program's view of a file.
struct SQLCipherShell {
    static var isInstalled: Bool { ChildProcess.find("sqlcipher") != nil }

    /// The lines of the last run's standard output.
    let lines: [String]
    /// The text it wrote to standard error.
    let errors: String

    /// Runs `script` on the file at `path`, after setting `key` (a passphrase, `x'…'` for a raw
    /// key, or nil for none) and then the pragmas of `settings`.
    ///
    /// Everything goes through standard input, because all users can read arguments.
    init(
        _ path: String, key: String?, settings: [String] = [], _ script: String
    ) throws {
        var input = ""
        if let key {
            // Both as in SQLCipher's manual.
            input +=
                key.hasPrefix("x'")
                ? "PRAGMA key = \"\(key)\";\n"
                : "PRAGMA key = '\(key.replacingOccurrences(of: "'", with: "''"))';\n"
        }
        for setting in settings { input += "PRAGMA \(setting);\n" }
        // The output before this line is that of the pragmas. The line is not a statement, which
        // would read the file before a script that sets its own key has done so.
        input += ".print '\(Self.separator)'\n" + script + "\n"
        let process = try ChildProcess(
            "sqlcipher", ["-batch", "-bail", path], input: Data(input.utf8))
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
