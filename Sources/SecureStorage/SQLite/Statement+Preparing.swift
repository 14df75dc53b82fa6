internal import CSQLCipher
internal import Foundation

extension Statement {
    /// Passes the text of `sql` with its NUL at the end, which spares SQLite a copy per prepare.
    static func withTerminatedText<R>(
        of sql: String, _ body: (UnsafePointer<CChar>, Int) throws -> R
    ) throws -> R {
        try sql.withCString { start in
            let length = sql.utf8.count
            guard strlen(start) == length else {
                throw SecureStorageError.statementFailed(
                    .error,
                    "the SQL text contains a NUL, where SQLite would stop reading; bind it instead"
                )
            }
            return try body(start, length)
        }
    }

    /// Prepares the first statement of a text of `length` bytes and a NUL.
    ///
    /// - Returns: The handle, nil for blanks and comments, and the number of bytes of that
    ///   statement.
    static func prepare(
        _ start: UnsafePointer<CChar>, length: Int, on connection: Connection, persistent: Bool
    ) throws -> (OpaquePointer?, consumed: Int) {
        try connection.home.requireCurrent()
        try connection.callbacks.requireNoComparison()
        guard let size = Int32(exactly: length + 1) else {
            throw SecureStorageError.statementFailed(.tooBig, "the SQL text is longer than 2 GB")
        }
        try SQLText.refuseVacuumInto(start)
        connection.authorizer.refusal = nil
        let database = try connection.requireHandle()
        var handle: OpaquePointer?
        var tail: UnsafePointer<CChar>?
        let flags = persistent ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        connection.authorizer.preparedControl = nil
        let code = connection.preparing {
            sqlite3_prepare_v3(database, start, size, flags, &handle, &tail)
        }
        // Before anything else is asked of the connection.
        connection.errorOffset = code == SQLITE_OK ? -1 : Int(sqlite3_error_offset(database))
        try connection.check(code, sql: SQLText.firstStatement(of: String(cString: start)))
        return (handle, consumed: tail.map { $0 - start } ?? length)
    }
}
