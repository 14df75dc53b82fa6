/// What a store has open, and the calls that are using it.
final class StoreSession {
    /// Set through the store, which follows the connection's changes.
    @exclusivity(unchecked) var connection: Connection?
    /// The number of times a connection was opened, which lets other code detect stale cached file
    /// state.
    @exclusivity(unchecked) var generation = 0
    /// What others have found out about the open file, by the bytes of a name: as strings, two
    /// spellings of one word would be equal.
    @exclusivity(unchecked) var findings: [[UInt8]: AnyObject] = [:]
    /// What all connections of the store have done.
    let activity = Activity()
    /// The claim on the file, held while the store is open, read-only or not.
    var claim: FileClaim?
    /// How to reopen the file; non-nil while the store is open but its connection had to be closed;
    /// see `SecureDatabaseStore+Rekey`.
    var reopening: Reopening?
    /// Whether the initialization handler is running.
    var isCreating = false
    /// Whether a pool has further connections to the file, which a key change would break.
    var hasReaders = false
    /// The running blocks that require a transaction.
    @exclusivity(unchecked) var transactionBlocks = TransactionBlocks()
    /// The number of result sets that the store has created.
    @exclusivity(unchecked) var resultSetCount = 0
    /// The last element of the linked list of open result sets.
    ///
    /// Unmanaged: a result set keeps its store alive, not vice versa, and removes itself from the
    /// list before it is deallocated.
    @exclusivity(unchecked) var newestResultSet: Unmanaged<SecureDatabaseResultSet>?
}

/// What the queues and the pool of a store share.
final class StoreSharing {
    /// The row iterations over the file that have their own connections.
    let rows = RowRegister()
    /// The copies and checks that read the file for the store's queues with their own connections.
    let readings = RowRegister()
    /// The observers of committed changes.
    let changes = ChangeFeed()
    /// The suspension of this store's queues; a pool has its own state and shares only the flag.
    let suspension = Suspension()
    /// Whether statements are refused; all connections of a pool share one flag.
    var suspensionFlag: SuspensionFlag

    init() { suspensionFlag = suspension.flag }
}
