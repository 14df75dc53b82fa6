/// An error that a Swift function throws to end the calling statement with a message and a code.
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
/// The statement throws `.backingStoreError` with the primary code and the message;
/// ``SecureStorageError/resultCode`` has the full code.
public struct SecureDatabaseFunctionError: Error, Hashable, Sendable {
    /// The description of the failure.
    public let message: String

    /// The code of the statement's error.
    public let code: SQLiteResultCode

    /// Creates an error of a function.
    ///
    /// - Parameters:
    ///   - message: A readable description of the failure. It should not quote arguments: words
    ///     from the statement's bound values are redacted, but those from a column are not.
    ///   - code: A SQLite code. The extension is free to choose, for example 19 + 200 * 256 for an
    ///     app's own constraint. Some codes would make the engine end more than the statement (such
    ///     as 7, 9, 10, 11 and 13), and others are not errors or have a special meaning (such as 0,
    ///     17 and 100): with those the statement ends with code `.error`.
    ///
    /// The corresponding C functions are [`sqlite3_result_error` and
    /// `sqlite3_result_error_code`](https://sqlite.org/c3ref/result_blob.html).
    public init(_ message: String, code: SQLiteResultCode = .error) {
        self.message = message
        self.code = code
    }
}
