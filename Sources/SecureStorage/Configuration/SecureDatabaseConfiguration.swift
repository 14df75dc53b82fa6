public import Logging

/// How a store works with its file: journal, durability, waiting, memory, cipher.
public struct SecureDatabaseConfiguration: Sendable {
    /// Where SQLite keeps what it needs to undo or finish a transaction (`PRAGMA journal_mode`).
    public enum JournalMode: String, Sendable, CaseIterable {
        /// A write-ahead log: readers and one writer at the same time, one sync per commit.
        case wal
        /// A rollback journal that each transaction deletes: one file at rest, readers and writers
        /// exclude each other.
        case delete
    }

    /// When SQLite waits for the disk (`PRAGMA synchronous`).
    public enum Synchronous: String, Sendable, CaseIterable {
        /// At each commit: what is committed survives a power cut. In ``JournalMode/delete`` this
        /// is SQLite's `EXTRA`, since its `FULL` can lose the last commit there.
        case full
        /// Less often: in WAL mode a power cut can take back the last commits, never harm the file.
        case normal
    }

    /// The journal of the file.
    ///
    /// Default: ``JournalMode/wal``. A file that is there already is converted when a store opens
    /// it, for all that use it; see ``keepsJournalMode``. A read-only store takes the file as it
    /// is. SQL can set another one only with that.
    public var journalMode = JournalMode.wal

    /// Whether a file that is there already keeps its journal mode, whatever ``journalMode`` says;
    /// a new file gets that one.
    ///
    /// Default: false. For programs that look into files of others. SQL can then change the mode,
    /// but to none in which a crash can damage the file.
    public var keepsJournalMode = false

    /// Whether the write-ahead log stays beside the file, empty, when the last connection closes.
    ///
    /// Default: false. Other processes that may read and not write need it: without a log they
    /// would have to make one.
    ///
    /// Each connection that may write empties the log when it closes. The log keeps its content
    /// when at that moment another connection reads in a transaction or writes, and when the
    /// process is killed; the next connection that may write empties it at its end. A read-only
    /// connection never does.
    ///
    /// The corresponding C constant is
    /// [`SQLITE_FCNTL_PERSIST_WAL`](https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlpersistwal).
    public var keepsWriteAheadLog = false

    /// Whether each commit notes in the table `securestorage_changes` which tables it has changed,
    /// so that observers in other processes are told.
    ///
    /// Default: false, since it costs a page per commit; without it a change of another process is
    /// one of unknown tables. All processes that write have to set it. The newest 1,000 commits are
    /// kept. See `Docs/Observation.md`.
    public var keepsChangeLog = false

    /// How durable a commit is.
    ///
    /// Default: ``Synchronous/full``. `PRAGMA synchronous` can raise it, not lower it.
    public var synchronous = Synchronous.full

    /// How long a statement waits for a lock of another connection before it throws code 5
    /// (SQLITE_BUSY).
    ///
    /// `.zero` does not wait. Default: 5 seconds. An interruption, the cancellation of the task and
    /// a deadline end the wait. `PRAGMA busy_timeout` reads as 0; one that the app sets takes the
    /// place of this one, until the store is closed, and is not ended so.
    public var busyTimeout: Duration = .seconds(5)

    /// Memory for decrypted pages, in bytes, per connection.
    ///
    /// Default: 16 MiB.
    ///
    /// A page in the cache costs nothing to decrypt: a cache that holds the pages in use makes
    /// look-ups about three times as fast. It is an upper bound; memory is taken as pages are read.
    public var cacheSize = 16 * 1024 * 1024

    /// Whether the file is only read.
    ///
    /// Default: false. A missing file is then an error at open, and a statement that writes throws
    /// code 8 (SQLITE_READONLY).
    public var isReadOnly = false

    /// Whether foreign key constraints are enforced (`PRAGMA foreign_keys`).
    ///
    /// Default: true.
    public var foreignKeysEnabled = true

    /// Whether the SQL that the store runs comes from elsewhere, such as a script that somebody
    /// sent.
    ///
    /// Default: false. Such SQL may do with this database what it likes, but it reaches nothing
    /// else: ATTACH and DETACH, functions of the app that are not made with `isInnocuous`,
    /// `sqlcipher_export`, modules of virtual tables other than FTS and R-tree, and all pragmas
    /// that set something are errors, code 23 (SQLITE_AUTH), whose message says what was refused.
    /// What it makes in the database, triggers for instance, stays; read it into a file of its own.
    public var runsUntrustedSQL = false

    /// Whether a dictionary of named values may have more names than the statement has
    /// placeholders.
    ///
    /// Default: false: a surplus name is an error, since it is mostly a slip. True passes such
    /// values over, as FMDB does. A placeholder without a value is an error in any case, and so is
    /// a surplus name in a literal (`executeUpdate(_:named:)`).
    public var allowsSurplusNames = false

    /// The largest number of read-only connections of a pool, at least 1; a single store has none.
    ///
    /// Default: 5.
    public var maximumReaderCount = 5

    /// What happens when this process has the file open for writing already.
    ///
    /// Default: ``SecondInstance/reported``. One store, queue or pool per file is the rule: a
    /// second one waits for the locks of the first, and breaks when that changes the key. Two
    /// queues of one store are one instance, a read-only store is none.
    public var secondInstance = SecondInstance.reported

    /// How the file is encrypted.
    ///
    /// Default: SQLCipher 4's own.
    public var cipher = CipherConfiguration()

    /// Where the library reports what is no error: facts on the engine at level `debug`, and
    /// warnings.
    ///
    /// Never keys, never bound values. Default: label `SecureStorage`.
    public var logger = Logger(label: "SecureStorage")

    /// The defaults that are named at each property.
    public init() {}
}

extension SecureDatabaseConfiguration {
    /// Refuses values that no engine setting stands for.
    func validate() throws {
        func refuse(_ message: String) -> SecureStorageError {
            .openFailed(code: ResultCode.misuse.rawValue, message: message)
        }
        guard busyTimeout >= .zero else {
            throw refuse("the busy timeout must not be negative")
        }
        guard cacheSize >= 0 else {
            throw refuse("the cache size must not be negative")
        }
        guard maximumReaderCount >= 1 else {
            throw refuse("the pool needs at least one reader")
        }
        try cipher.validate()
    }
}
