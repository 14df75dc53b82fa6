extension SecureDatabaseStore {
    /// Checks the whole file: the HMAC of each page, what `PRAGMA integrity_check` checks, and the
    /// foreign keys.
    ///
    /// Takes about as long as reading the whole file twice. Other connections can read in the
    /// meantime, and in WAL mode write; the check sees one state, that of its beginning, including
    /// the pages that are still in the log.
    ///
    /// ```swift
    /// let report = try db.verifyIntegrity { print("\(Int($0.fraction * 100)) %") }
    /// guard report.isSound else { return print(report) }
    /// ```
    ///
    /// - Parameter progress: Called after every megabyte and several times a second; throwing ends
    ///   the check.
    /// - Returns: The findings, which are not errors.
    /// - Throws: `.closed`; `.backingStoreError`, such as code `.busy` if the file is locked; what
    ///   `progress` throws.
    ///
    /// The corresponding statements are [`PRAGMA
    /// integrity_check`](https://sqlite.org/pragma.html#pragma_integrity_check) and [`PRAGMA
    /// foreign_key_check`](https://sqlite.org/pragma.html#pragma_foreign_key_check).
    public func verifyIntegrity(
        progress: FileProgress.Handler = { _ in }
    ) throws -> IntegrityReport {
        let connection = try workingConnection()
        try connection.callbacks.requireOutside("the file cannot be checked")
        return try IntegrityCheck(connection: connection).run {
            try requireGoingOn()
            try progress($0)
        }
    }
}
