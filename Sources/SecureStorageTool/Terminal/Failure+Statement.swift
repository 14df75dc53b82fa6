internal import Foundation
internal import SecureStorage

extension Failure {
    private static let longestStatement = 60

    /// Returns the failure of a statement, with the beginning of the statement and the place of the
    /// error in it; other errors as they are.
    static func statement(
        _ error: any Error, _ sql: String, in store: SecureDatabaseStore
    ) -> any Error {
        guard error is SecureStorageError, let failure = Failure(error),
            let (reason, shown, code) = parts(of: failure.message)
        else { return error }
        let place = store.errorPlace(in: sql)
        let statement = place == nil ? "; in: " + beginning(of: shown) : ""
        var result = Failure("\(reason)\(statement)\(code)", hint: failure.hint, failure.kind)
        result.place = place
        result.lineOfStatement = place?.line ?? 1
        return result
    }

    /// The line of a script, in which the statement begins in the line `start`.
    func line(ofStatementAt start: Int) -> Int { start + lineOfStatement - 1 }

    /// The message without the statement in it.
    static func withoutStatement(_ message: String) -> String {
        parts(of: message).map { String($0.reason + $0.code) } ?? message
    }

    /// Divides a message into the reason, the statement, and the code of the error.
    private static func parts(
        of message: String
    ) -> (reason: Substring, statement: Substring, code: Substring)? {
        guard let statement = message.range(of: "; in: "),
            let code = message.range(of: " [SQLITE_", options: .backwards),
            statement.upperBound <= code.lowerBound
        else { return nil }
        return (
            message[..<statement.lowerBound],
            message[statement.upperBound..<code.lowerBound], message[code.lowerBound...]
        )
    }

    private static func beginning(of sql: Substring) -> String {
        let line = sql.prefix { !$0.isNewline }
        let short = line.prefix(longestStatement)
        return short.endIndex == sql.endIndex ? String(sql) : short + "…"
    }
}

extension SQLErrorPlace {
    /// The text around the place, and a mark below it.
    var excerpt: [String] {
        let before = Visible.text(before)
        let indent = String(repeating: " ", count: DisplayWidth.of(before))
        return [before + Visible.text(after), indent + "^"]
    }
}
