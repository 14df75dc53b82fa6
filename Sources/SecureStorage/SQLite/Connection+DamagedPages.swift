internal import CSQLCipher
internal import Foundation

/// Detects that SQLCipher has returned zeros instead of a damaged page.
///
/// When a page's HMAC fails, SQLCipher up to 4.9 at least puts the pager into its error state, so
/// that the *next* page request is an error. The damaged page itself reaches SQLite as zeros,
/// without an error. Most pages are not valid as zeros, but the last overflow page of a long value
/// is: that value would end in zeros. So after each step that has read pages from the file, the
/// pager is checked for its error state.
///
/// SQLCipher 4.9 reports "out of memory" for a damaged page, and for every page that it reads
/// afterwards.
extension Connection {
    enum StepVerdict {
        case sound
        case damaged
        /// The file is read without locks and was changed since it was opened.
        case changed
        /// The error state, if any, ended with the read transaction; only running the statement
        /// once more inside a transaction shows it.
        case unknown
    }

    /// Determines whether the pages that the last step has read are as they were written.
    ///
    /// - Parameters:
    ///   - hasReadPages: The result of `noteReadPages()` after the step.
    ///   - isFirstStep: Whether the statement began with this step.
    ///   - isAtEnd: Whether the step ended the statement, and with it perhaps the transaction.
    ///   - isQuery: Whether the statement returns columns and writes nothing. A writing statement
    ///     cannot be committed after an error, and one without columns returns nothing wrong.
    /// - Returns: The verdict on whether the step's result can be trusted.
    func verdict(
        hasReadPages: Bool, isFirstStep: Bool, isAtEnd: Bool, isQuery: Bool
    ) -> StepVerdict {
        if isAtEnd, !isQuery {
            if activity.isCommitting { activity.endCommit(isDone: true) }
            noteDataVersion()
            return .sound
        }
        if let untouchable = found.untouchable, hasReadPages || isFirstStep,
            !untouchable.isCurrent()
        {
            return .changed
        }
        guard hasReadPages else { return .sound }
        guard isAtEnd, !holdsReadTransaction else { return probePagers() ? .sound : .damaged }
        // Leaving the error state resets the pager, and a reset counts as a new version. So does a
        // commit of another connection, but only when a statement begins.
        let before = damage.knownDataVersion
        damage.knownDataVersion = dataVersion
        guard damage.knownDataVersion != before else { return .sound }
        return isFirstStep ? .unknown : .damaged
    }

    /// Notes the data version at the first row of a statement and when a writing statement is given
    /// back.
    ///
    /// Later changes are then due neither to a commit of another connection nor to one of this
    /// connection. Inside a transaction the version is not queried; the transaction's end notes it.
    func noteDataVersion() {
        if handle != nil, !isInTransaction { damage.knownDataVersion = dataVersion }
    }

    private var dataVersion: UInt32 {
        guard let handle else { return damage.knownDataVersion }
        var version: UInt32 = 0
        // Cannot fail for an open connection.
        _ = sqlite3_file_control(handle, nil, SQLITE_FCNTL_DATA_VERSION, &version)
        return version
    }

    /// Whether some read transaction outlasts the statement that has just ended.
    private var holdsReadTransaction: Bool {
        handle.map { sqlite3_txn_state($0, nil) != SQLITE_TXN_NONE } ?? false
    }

    /// Checks that no pager is in its error state, by requesting a cached page from each
    /// database.
    ///
    /// Only pagers in a transaction are checked: no other pager stays in that state, and a lock of
    /// another connection proves nothing.
    func probePagers() -> Bool {
        guard let handle else { return true }
        var index: Int32 = 0
        while let name = sqlite3_db_name(handle, index) {
            defer { index += 1 }
            guard index != 1, sqlite3_txn_state(handle, name) != SQLITE_TXN_NONE else { continue }
            // The main one is checked after each page that a scan reads, so its query is kept.
            if index == 0, damage.pagerProbe == nil { damage.pagerProbe = prepareProbe(of: name) }
            let probe = index == 0 ? damage.pagerProbe : prepareProbe(of: name)
            defer { if index != 0 { sqlite3_finalize(probe) } }
            let code = probe == nil ? sqlite3_errcode(handle) : sqlite3_step(probe)
            // Repeats the outcome of the step.
            _ = sqlite3_reset(probe)
            if [SQLITE_ERROR, SQLITE_CORRUPT, SQLITE_NOTADB].contains(code & 0xff) { return false }
        }
        return true
    }

    /// Prepares the query that checks a pager; nil when the schema cannot be read.
    private func prepareProbe(of name: UnsafePointer<CChar>) -> OpaquePointer? {
        let schema = "\(SQLText.identifier(String(cString: name))).sqlite_schema"
        var probe: OpaquePointer?
        _ = sqlite3_prepare_v3(
            handle, "SELECT 1 FROM \(schema) LIMIT 1", -1, UInt32(SQLITE_PREPARE_PERSISTENT),
            &probe, nil)
        return probe
    }

    /// Returns the error for a page that a statement or a value could not use.
    func damagedPage(in sql: String?) -> SecureStorageError {
        foreignRekey(.corrupt, "")
            ?? (findUnreadPage() ? .unreadPage(in: sql) : .damagedPage(in: sql))
    }

    /// Finds out whether a page that seems to be damaged was only not read: the disk has failed,
    /// and all pages that it returns are as they were written.
    ///
    /// SQLite reports some failures of a read, such as EIO, as damage. This reads the whole file.
    func findUnreadPage() -> Bool { hasReadFailure && !findDamagedPage() }

    /// Whether a read of a database's file, or of its log, has ever failed in a way that SQLite
    /// takes for damage.
    private var hasReadFailure: Bool {
        guard let handle else { return false }
        var index: Int32 = 0
        while let name = sqlite3_db_name(handle, index) {
            defer { index += 1 }
            for pointer in [SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER] {
                var file: UnsafeMutablePointer<sqlite3_file>?
                guard sqlite3_file_control(handle, name, pointer, &file) == SQLITE_OK, let file,
                    let methods = file.pointee.pMethods
                else { continue }
                var code: Int32 = 0
                if methods.pointee.xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &code) == SQLITE_OK,
                    [EIO, ENXIO, ERANGE].contains(code)
                {
                    return true
                }
            }
        }
        return false
    }

    /// Finds out whether the file, read without the engine, has a page that is not as it was
    /// written.
    ///
    /// This is for an engine that has reported something else. It reads the whole file. Damage that
    /// was found is remembered, as no engine forgets it either.
    func findDamagedPage() -> Bool {
        guard !damage.knowsDamage, let key else { return damage.knowsDamage }
        guard let scan = try? PageScan(path, key, configuration.cipher),
            let outcome = try? Examination(scan: scan).run({ _ in })
        else { return false }
        damage.knowsDamage = !outcome.damaged.isEmpty || outcome.missingPages > 0
        return damage.knowsDamage
    }

    /// Notes how many pages were read, and returns whether the last step has read some; if not,
    /// none can have been damaged.
    @inline(__always)
    func noteReadPages() -> Bool {
        guard handle != nil else { return false }
        let misses = status(SQLITE_DBSTATUS_CACHE_MISS)
        guard misses != damage.knownCacheMisses else { return false }
        damage.knownCacheMisses = misses
        return true
    }
}
