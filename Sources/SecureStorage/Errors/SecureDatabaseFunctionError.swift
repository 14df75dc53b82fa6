/// What a function in Swift throws to end the statement that calls it, with a message and a code of
/// its own.
///
/// ```swift
/// try db.makeFunction(named: "checked_age", argumentCount: 1) { arguments in
///     guard let age = Int(sqliteValue: arguments[0]), (0...150).contains(age) else {
///         throw SecureDatabaseFunctionError(
///             "an age is from 0 to 150", code: .constraintFunction)
///     }
///     return age
/// }
/// ```
///
/// The statement throws `.backingStoreError` with the primary code and the message; the whole code
/// is in ``SecureStorageError/resultCode``.
public struct SecureDatabaseFunctionError: Error, Hashable, Sendable {
    /// What has gone wrong.
    public let message: String

    /// The code of the statement's error.
    public let code: SQLiteResultCode

    /// An error of a function.
    ///
    /// - Parameters:
    ///   - message: What has gone wrong, for people. It should not quote arguments: words of the
    ///     statement's bound values are taken out of it, but those of a column are not.
    ///   - code: One of SQLite's. The extension is free to choose, such as 19 and 200 times 256 for
    ///     a constraint of the app's own. By some codes the engine would end more than the
    ///     statement (7, 9, 10, 11, 13), and others are none or have a meaning of their own (0, 17,
    ///     100): with those the statement ends with code 1.
    ///
    /// The corresponding C functions are [`sqlite3_result_error` and
    /// `sqlite3_result_error_code`](https://sqlite.org/c3ref/result_blob.html).
    public init(_ message: String, code: SQLiteResultCode = .error) {
        self.message = message
        self.code = code
    }
}
