internal import CSQLCipher

/// Finds out that SQLCipher has lent zeros instead of a damaged page.
///
/// When the HMAC of a page fails, SQLCipher up to 4.9 at least puts the pager into its error state,
/// so that the *next* page that is asked for is an error. The damaged page itself is handed to
/// SQLite as zeros, with no error. Most pages are not valid as zeros, but the last overflow page of
/// a long value is: that value would end in zeros. So after each step that has read pages from the
/// file, the pager is asked whether it is in its error state.
///
/// SQLCipher 4.9 reports "out of memory" for a damaged page, and for every page that it reads
/// afterwards.
extension Connection {
    enum StepVerdict {
        case sound
        case damaged
        /// The file is read without locks and has been changed meanwhile.
        case changed
        /// The error state, if there was one, has gone with the read transaction; only running the
        /// statement once more inside a transaction can tell.
        case unknown
    }

    /// Whether the pages that the last step has read are as they were written.
    ///
    /// - Parameters:
    ///   - hasReadPages: What `hasReadPages()` said after the step.
    ///   - isFirstStep: Whether the statement has begun with this step.
    ///   - isAtEnd: Whether the step has ended the statement, and with it perhaps the transaction.
    ///   - isQuery: Whether the statement returns columns and writes nothing. What writes cannot be
    ///     committed after an error, and what returns no columns returns nothing wrong.
    /// - Returns: Whether what the step has returned can be believed.
    func verdict(
        hasReadPages: Bool, isFirstStep: Bool, isAtEnd: Bool, isQuery: Bool
    ) -> StepVerdict {
        if isAtEnd, !isQuery {
            noteDataVersion()
            return .sound
        }
        if let untouchable, hasReadPages || isFirstStep, !untouchable.isCurrent() {
            return .changed
        }
        guard hasReadPages else { return .sound }
        guard isAtEnd, !holdsReadTransaction else { return isPagerSound() ? .sound : .damaged }
        // Leaving the error state resets the pager, and a reset counts as a new version; so does a
        // commit of another connection, but only when a statement begins.
        let before = knownDataVersion
        knownDataVersion = dataVersion
        guard knownDataVersion != before else { return .sound }
        return isFirstStep ? .unknown : .damaged
    }

    /// To be called at the first row of a statement and when one that writes is given back: what
    /// changes from here on is not the commit of another connection, nor of this one.
    ///
    /// Inside a transaction it is not asked for, and the transaction's end notes it.
    func noteDataVersion() {
        if handle != nil, !isInTransaction { knownDataVersion = dataVersion }
    }

    private var dataVersion: UInt32 {
        guard let handle else { return knownDataVersion }
        var version: UInt32 = 0
        // Cannot fail for an open connection.
        _ = sqlite3_file_control(handle, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return version
    }

    /// Whether some read transaction outlasts the statement that has just ended.
    private var holdsReadTransaction: Bool {
        handle.map { sqlite3_txn_state($0, nil) != SQLITE_TXN_NONE } ?? false
    }

    /// Asks the pager of each database for a page that is in its cache: an error in its error
    /// state.
    ///
    /// Only of those that are in a transaction: no other pager stays in that state, and a lock of
    /// another connection says nothing.
    func isPagerSound() -> Bool {
        guard let handle else { return true }
        var index: Int32 = 0
        while let name = sqlite3_db_name(handle, index) {
            defer { index += 1 }
            guard index != 1, sqlite3_txn_state(handle, name) != SQLITE_TXN_NONE else { continue }
            // The main one is asked after each page that a scan reads, so its question is kept.
            if index == 0, pagerProbe == nil { pagerProbe = prepareProbe(of: name) }
            let probe = index == 0 ? pagerProbe : prepareProbe(of: name)
            defer { if index != 0 { sqlite3_finalize(probe) } }
            let code = probe == nil ? sqlite3_errcode(handle) : sqlite3_step(probe)
            // Repeats the outcome of the step.
            _ = sqlite3_reset(probe)
            if [SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff) { return false }
        }
        return true
    }

    /// nil when the schema cannot be read.
    private func prepareProbe(of name: UnsafePointer<CChar>) -> OpaquePointer? {
        let schema = "\(SQLText.identifier(String(cString: name))).sqlite_schema"
        var probe: OpaquePointer?
        _ = sqlite3_prepare_v3(
            handle, "SELECT 1 FROM \(schema) LIMIT 1", -1, UInt32(SQLITE_PREPARE_PERSISTENT),
            &probe, nil)
        return probe
    }

    /// Whether the file, read without the engine, has a page that is not as it was written.
    ///
    /// For an engine that has reported something else. It reads the whole file, once: what was
    /// found is remembered, as no engine forgets it either.
    func hasDamagedPage() -> Bool {
        guard !knowsDamage, let key else { return knowsDamage }
        guard let scan = try? PageScan(path, key, configuration.cipher),
            let outcome = try? Examination(scan: scan).run({ _ in })
        else { return false }
        knowsDamage = !outcome.damaged.isEmpty || outcome.missingPages > 0
        return knowsDamage
    }

    /// Whether the last step has read pages from the file: without that, none can have been
    /// damaged.
    @inline(__always)
    func hasReadPages() -> Bool {
        guard let handle else { return false }
        var misses: Int32 = 0
        var highest: Int32 = 0
        // Cannot fail for an open connection.
        _ = sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_MISS, &misses, &highest, 0)
        guard misses != knownCacheMisses else { return false }
        knownCacheMisses = misses
        return true
    }
}
