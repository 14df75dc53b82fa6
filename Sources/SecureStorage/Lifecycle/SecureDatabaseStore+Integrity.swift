extension SecureDatabaseStore {
    /// Checks the whole file: the HMAC of each page, what `PRAGMA integrity_check` checks, and the
    /// foreign keys.
    ///
    /// Takes about as long as reading the whole file twice. Others may read meanwhile, and in WAL
    /// mode write; what is checked is one state, that of the beginning, with the pages that are
    /// still in the log.
    ///
    /// ```swift
    /// let report = try db.verifyIntegrity { print("\(Int($0.fraction * 100)) %") }
    /// guard report.isSound else { return print(report) }
    /// ```
    ///
    /// - Parameter progress: Told of every megabyte and several times a second; what it throws ends
    ///   the check.
    /// - Returns: What was found; that something was is no error.
    /// - Throws: `.closed`; `.backingStoreError`, such as code 5 when the file is locked; what
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
