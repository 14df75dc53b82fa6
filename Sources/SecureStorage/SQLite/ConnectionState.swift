/// What a connection's authorizer knows about the SQL that is prepared and run; see
/// `Connection+Authorizer` and `SQLOrigin`.
final class AuthorizerState {
    /// The origin of the SQL that is being prepared and run.
    @exclusivity(unchecked) var origin = SQLOrigin.app
    /// Why the authorizer has refused something since the last statement was prepared.
    @exclusivity(unchecked) var refusal: String?
    /// The transaction control that it noted for the statement being prepared.
    @exclusivity(unchecked) var preparedControl: TransactionControl?
    /// The tables that statements read; non-nil while they are noted.
    var readTables: Set<String>?
    /// The app's functions that a schema, or SQL from elsewhere, must not call, in lower case.
    var directFunctions: Set<String> = []
    /// Whether statements that write are refused, as those of a block that only reads.
    @exclusivity(unchecked) var refusesWrites = false
    /// Whether the app has prepared a `PRAGMA busy_timeout` with a value.
    var setsBusyTimeout = false
    /// Whether the app has prepared a `PRAGMA synchronous` with a value, which it can only raise.
    var setsSynchronous = false
}

/// What ends a connection's statement, or its wait for a lock, early.
final class WaitState {
    /// See `Connection+ProgressHandler`.
    var watcher: (() -> Bool)?
    /// See `Connection+LockWaits`.
    var lockWait = Connection.LockWait()
    var neverWaits = false
}

/// What `Connection+DamagedPages` remembers between two steps.
final class DamageState {
    /// The counters at the last step: cache misses (`SQLITE_DBSTATUS_CACHE_MISS`), and
    /// `SQLITE_FCNTL_DATA_VERSION` of the main database.
    @exclusivity(unchecked) var knownCacheMisses: Int32 = 0
    @exclusivity(unchecked) var knownDataVersion: UInt32 = 0
    /// Whether the library's own reading has found a damaged page; see `findDamagedPage()`.
    var knowsDamage = false
    /// The query that checks whether the pager is in its error state; prepared at first use.
    var pagerProbe: OpaquePointer?
}
