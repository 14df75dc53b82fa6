/// An asynchronous sequence of the changes committed to a database.
///
/// ```swift
/// for await change in queue.changes(in: ["note"]) {
///     print("notes have changed", change.includesForeign ? "elsewhere" : "here")
/// }
/// ```
///
/// Each change is delivered after its commit, in commit order. Rolled-back work is never reported.
/// Changes committed while a loop is busy are merged into one.
///
/// Each iteration is a separate observer from the call of `makeAsyncIterator()` on: it sees what
/// later calls commit. It ends when its task is cancelled, and keeps the queue or the pool alive
/// until then. Closing the file does not end it; opening the file again delivers a change of
/// unknown tables.
///
/// Commits of other connections and processes are reported too, without their tables unless
/// ``SecureDatabaseConfiguration/keepsChangeLog`` is set. The file's directory is watched for them,
/// which costs nothing while no process writes.
///
/// Thread-safe. Without an observer, writing costs no extra time.
///
/// The corresponding C functions are
/// [`sqlite3_update_hook`](https://sqlite.org/c3ref/update_hook.html) and
/// [`sqlite3_commit_hook`](https://sqlite.org/c3ref/commit_hook.html).
public struct DatabaseChanges: AsyncSequence, Sendable {
    /// The type of the sequence's elements.
    public typealias Element = DatabaseChange

    let store: ObservedStore
    let tables: ObservedTables
    let wantsRowIDs: Bool

    /// Starts observing.
    ///
    /// - Returns: An iterator that observes until its last copy is destroyed.
    public func makeAsyncIterator() -> Iterator {
        let buffer = ChangeBuffer(tables, wantsRowIDs: wantsRowIDs, wantsShadows: false)
        return Iterator(observer: Observer(store, buffer))
    }

    /// An iterator that waits for changes.
    public struct Iterator: AsyncIteratorProtocol {
        let observer: Observer

        /// Returns the changes committed since the last call, or waits for the next one.
        ///
        /// - Returns: The change; nil when the task is cancelled, and from then on.
        public mutating func next() async -> DatabaseChange? {
            await observer.next()
        }
    }
}
