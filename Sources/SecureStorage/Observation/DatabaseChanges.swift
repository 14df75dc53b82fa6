/// The changes of a database, one after the other, for `for await`.
///
/// ```swift
/// for await change in queue.changes(in: ["note"]) {
///     print("notes have changed", change.includesForeign ? "elsewhere" : "here")
/// }
/// ```
///
/// Each is told after its commit, in the order of the commits; nothing is told of what was rolled
/// back. A loop that takes its time gets as one change what was committed meanwhile.
///
/// Each iteration is an observer of its own, from the call of `makeAsyncIterator()` on: it sees
/// what is committed in calls that come afterwards. It ends when its task is cancelled, and keeps
/// the queue or the pool until then. Closing the file does not end it; when it is opened again, a
/// change of unknown tables is told.
///
/// Commits of other connections and processes are told as well, without their tables. The file's
/// directory is watched for that, which costs nothing while nobody writes.
///
/// Thread-safe. Writing needs no more time while nobody observes.
///
/// The corresponding C functions are
/// [`sqlite3_update_hook`](https://sqlite.org/c3ref/update_hook.html) and
/// [`sqlite3_commit_hook`](https://sqlite.org/c3ref/commit_hook.html).
public struct DatabaseChanges: AsyncSequence, Sendable {
    /// What a loop gets.
    public typealias Element = DatabaseChange

    let store: ObservedStore
    let tables: ObservedTables
    let wantsRowIDs: Bool

    /// Begins to observe.
    ///
    /// - Returns: An iterator that is an observer until its last copy goes.
    public func makeAsyncIterator() -> Iterator {
        let buffer = ChangeBuffer(tables, wantsRowIDs: wantsRowIDs, wantsShadows: false)
        return Iterator(observer: Observer(store, buffer))
    }

    /// Waits for the changes of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        let observer: Observer

        /// What was committed since the last call, or will be next.
        ///
        /// - Returns: nil when the task is cancelled, and ever after.
        public mutating func next() async -> DatabaseChange? {
            await observer.next()
        }
    }
}

extension SecureDatabaseReader {
    /// The changes that are committed from now on, through this queue or pool and by others.
    ///
    /// - Parameters:
    ///   - tables: Names, in any case, of tables of the main database; `sqlite_schema` for the
    ///     schema. nil or none for all.
    ///   - rowIDs: Whether to report which rows have changed, which takes some time and memory.
    /// - Returns: A sequence without end; see ``DatabaseChanges``.
    public func changes(in tables: [String]? = nil, rowIDs: Bool = false) -> DatabaseChanges {
        DatabaseChanges(
            store: access.point.observed, tables: ObservedTables(tables), wantsRowIDs: rowIDs)
    }
}
