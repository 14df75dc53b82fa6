internal import Foundation

/// Messages for programs: with `--json`, each line of standard error is one object.
enum Report {
    /// Whether the user wants JSON; the arguments say so even if they cannot be parsed.
    static let isJSON = wantsJSON(((try? Tool.arguments()) ?? []).dropFirst())

    static func wantsJSON(_ arguments: some Sequence<String>) -> Bool {
        arguments.prefix { $0 != "--" }.contains { $0 == "--json" || $0 == "--json-lines" }
    }

    private struct Line: Encodable {
        let code: String
        let message: String
        var hint: String?
        var near: String?
        var status: Int32?
    }

    /// Returns the object on one line; control characters are escaped.
    static func line(
        code: String, message: String, hint: String? = nil, near: String? = nil,
        status: Int32? = nil
    ) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let line = Line(code: code, message: message, hint: hint, near: near, status: status)
        // Texts and a number are always encoded.
        return (try? encoder.encode(line)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    /// - Parameters:
    ///   - code: The name of a ``FailureKind``, `warning`, or `done` for what is committed.
    ///   - message: What the program says to people.
    ///   - hint: What to do.
    ///   - near: The SQL from the place of its error on.
    ///   - status: The exit status; nil when the program continues.
    static func write(
        code: String, message: String, hint: String? = nil, near: String? = nil,
        status: Int32? = nil
    ) {
        // Failure to show a message is not a reason to stop.
        try? Output.errors.write(
            line: line(code: code, message: message, hint: hint, near: near, status: status))
    }
}

/// Reports the end of a verb, when its work is committed and on the disk: a line for people, or
/// with `--json` an object.
func acknowledge(_ line: String, json isJSON: Bool, _ answer: some Encodable) throws {
    guard isJSON else { return try acknowledge(line) }
    try Output.standard.write(json: answer)
    try Output.standard.flush()
}
