public import Logging

/// How a store uses its file: journal, durability, waiting, memory, cipher.
public struct SecureDatabaseConfiguration: Sendable {
    /// Where SQLite keeps the data to undo or finish a transaction (`PRAGMA journal_mode`).
    public enum JournalMode: String, Sendable, CaseIterable {
        /// A write-ahead log: readers run alongside one writer, and a commit costs one sync.
        case wal
        /// A rollback journal that each transaction deletes: one file at rest; readers and writers
        /// exclude each other.
        case delete
    }

    /// When SQLite waits for the disk (`PRAGMA synchronous`).
    public enum Synchronous: String, Sendable, CaseIterable {
        /// At each commit: a committed transaction survives a power cut.
        ///
        /// In ``JournalMode/delete`` this is SQLite's `EXTRA`, since its `FULL` can lose the last
        /// commit there.
        case full
        /// Less often: in WAL mode a power cut can undo the last commits, never damage the file.
        case normal
    }

    /// The journal mode of the file.
    ///
    /// Default: ``JournalMode/wal``. Opening converts an existing file, for all of its users,
    /// unless ``keepsJournalMode`` is set; without that property, SQL cannot switch between a
    /// write-ahead log and a rollback journal. A read-only store leaves the file as it is.
    public var journalMode = JournalMode.wal

    /// Whether an existing file keeps its journal mode, whatever ``journalMode`` says; a new file
    /// gets that mode.
    ///
    /// Default: false. For programs that inspect the files of others. SQL can then change the mode,
    /// except to one in which a crash can damage the file.
    public var keepsJournalMode = false

    /// Whether the write-ahead log stays beside the file, empty, when the last connection closes.
    ///
    /// Default: false. Other processes that may read but not write need it: without a log they
    /// would have to create one.
    ///
    /// Each connection that may write empties the log when it closes. The log keeps its content if
    /// another connection is reading in a transaction or writing at that moment, or if the process
    /// is killed; the next connection that may write empties it on closing. A read-only connection
    /// never does.
    ///
    /// The corresponding C constant is
    /// [`SQLITE_FCNTL_PERSIST_WAL`](https://sqlite.org/c3ref/c_fcntl_begin_atomic_write.html#sqlitefcntlpersistwal).
    public var keepsWriteAheadLog = false

    /// Whether each commit records the tables it changed in the table `securestorage_changes`, for
    /// observers in other processes.
    ///
    /// Default: false, since it costs a page per commit; without it, a change by another process is
    /// reported as one of unknown tables. All processes that write must set it. The newest 1,000
    /// commits are kept. See `Docs/Observation.md`.
    public var keepsChangeLog = false

    /// How durable a commit is.
    ///
    /// Default: ``Synchronous/full``. `PRAGMA synchronous` can raise it, not lower it.
    public var synchronous: Synchronous {
        get { commits.synchronous }
        set { commits.synchronous = newValue }
    }

    /// Whether writes of several threads or tasks that wait for each other wait for the disk
    /// together (group commit).
    ///
    /// Default: false. Applies to `write` of a queue or a pool and to the writes of a key-value
    /// store, with ``JournalMode/wal`` and ``Synchronous/full``. Each `write` remains a transaction
    /// of its own and returns when it is on the disk, but the next one begins without waiting for
    /// that: see `Docs/Performance.md`.
    ///
    /// It is off by default since two promises become weaker. A read of a pool or of another
    /// process can see a write some milliseconds before it is on the disk, and a power cut in that
    /// time undoes it: do not set it where a reader acts outside the database on data that it read,
    /// and that must never be undone. And opening does not report a damaged log that a power
    /// cut may have left: see `Docs/ThreatModel.md`.
    public var groupsWrites: Bool {
        get { commits.areGrouped }
        set { commits.areGrouped = newValue }
    }

    private var commits = Commits()

    /// How commits reach the disk.
    private struct Commits {
        var synchronous = Synchronous.full
        var areGrouped = false
    }

    /// How long a statement waits for another connection's lock before it throws code `.busy`
    /// (SQLITE_BUSY).
    ///
    /// `.zero` does not wait. Default: 5 seconds. An interruption, the cancellation of the task and
    /// a deadline end the wait. `PRAGMA busy_timeout` reads as 0. A value set with that pragma
    /// replaces this one until the store is closed, and its wait cannot be ended early.
    public var busyTimeout: Duration = .seconds(5)

    /// The maximum memory for decrypted pages, in bytes, per connection.
    ///
    /// Default: 16 MiB.
    ///
    /// A cached page need not be decrypted: a cache that holds the working set makes lookups about
    /// three times as fast. Memory is allocated as pages are read.
    public var cacheSize = 16 * 1024 * 1024

    /// Whether the file is opened read-only.
    ///
    /// Default: false. If true, opening a missing file is an error, and a statement that writes
    /// throws code `.readOnly`.
    public var isReadOnly: Bool {
        get { use != .readingAndWriting }
        set { use = newValue ? .reading : .readingAndWriting }
    }

    /// Whether opening creates a file that does not exist.
    ///
    /// Default: true. If false, a missing file is `.openFailed` with code `.cannotOpen`: a wrong
    /// path, or a volume that is not mounted, does not become an empty database.
    public var createsFile = true

    /// The folder of a temporary database, removed with the last copy of its settings.
    var temporaryFolder: (path: String, holder: any AnyObject & Sendable)?

    package var use = FileUse.readingAndWriting

    package enum FileUse: Sendable {
        case readingAndWriting, reading
        /// Reading without sidecar files, since the disk has no room for them.
        case readingOnFullDisk
    }

    /// Whether foreign key constraints are enforced (`PRAGMA foreign_keys`).
    ///
    /// Default: true.
    public var foreignKeysEnabled = true

    /// Whether the store runs SQL from an untrusted source, such as a script from a third party.
    ///
    /// Default: false. Such SQL may do anything to this database but cannot reach beyond it: ATTACH
    /// and DETACH, app functions that are not made with `isInnocuous`, `sqlcipher_export`, virtual
    /// table modules other than FTS and R-tree, and all pragmas that set a value fail with code
    /// `.notAuthorized` (SQLITE_AUTH) and a message that names what was refused. Anything it
    /// creates in the database, such as triggers, stays; load such SQL into a separate file.
    public var runsUntrustedSQL = false

    /// Whether a dictionary of named values may have more names than the statement has
    /// placeholders.
    ///
    /// Default: false: a surplus name is an error, since it is usually a mistake. True ignores such
    /// values, as FMDB does. A placeholder without a value is always an error, as is a surplus name
    /// in a literal (`executeUpdate(_:named:)`).
    public var allowsSurplusNames = false

    /// The maximum number of a pool's read-only connections, at least 1; a single store has none.
    ///
    /// Default: 5.
    public var maximumReaderCount = 5

    /// The tokenizers in Swift that full-text tables (FTS5) of the file may use.
    ///
    /// Default: none. For example `[CJKTokenizer.self]`. Each connection to the file has them:
    /// those of a queue or a pool, and those that make and check copies. If an engine was built
    /// without FTS5, opening with any throws `.openFailed` with code `.error`.
    public var tokenizers: [any FullTextTokenizer.Type] = []

    /// What happens when this process already has the file open for writing.
    ///
    /// Default: ``SecondInstance/reported``. Use one store, queue or pool per file: a second one
    /// waits for the first one's locks and stops working when the first changes the key. Two queues
    /// of one store are one instance; a read-only store does not count.
    public var secondInstance = SecondInstance.reported

    /// How the file is encrypted.
    ///
    /// Default: SQLCipher 4's settings.
    public var cipher = CipherConfiguration()

    /// Receives diagnostics that are not errors: facts about the engine at level `debug`, and
    /// warnings.
    ///
    /// Never receives keys or bound values. Default: label `SecureStorage`.
    public var logger = Logger(label: "SecureStorage")

    /// Receives a report on each run of a statement: its text without values, its time, its rows
    /// and pages, its waits.
    ///
    /// Default: nil, which costs a comparison for each row.
    ///
    /// It is called at the end of the statement, on the thread that runs it, and for a pool on
    /// several threads at the same time; the statement's call waits for it. It must not use the
    /// database: statements that it runs on it are not reported, and closing it there is refused.
    /// See `Docs/Monitoring.md`.
    public var statementObserver: (@Sendable (StatementReport) -> Void)?

    /// The duration from which on a statement is logged, at level `warning`, as `slow statement`.
    ///
    /// Default: nil: none is. `.zero` logs each statement. The line has the text without values,
    /// the duration and the counts of a ``StatementReport``.
    public var slowStatementThreshold: Duration?

    /// Set with the package traits `Metrics` and `Tracing`.
    var instrumentation = Instrumentation()

    /// Creates a configuration with the defaults documented at each property.
    public init() {}
}

extension SecureDatabaseConfiguration {
    /// Refuses values that no engine setting can represent.
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
        for name in tokenizers.map({ $0.name }) {
            guard (1...255).contains(name.utf8.count), !name.utf8.contains(0) else {
                throw refuse("the name of a tokenizer has 1 to 255 bytes and no NUL")
            }
            guard !["unicode61", "ascii", "porter", "trigram"].contains(name.lowercased()) else {
                throw refuse("the tokenizer \(name) is built in, and indexes rely on it")
            }
        }
    }
}

extension SecureDatabaseConfiguration {
    /// What happens when a store opens a file that this process already has open for writing.
    public enum SecondInstance: Sendable, CaseIterable {
        /// The open succeeds.
        case allowed
        /// The open succeeds, and a warning is logged.
        case reported
        /// `open` throws `.openFailed` with code `.misuse`.
        case refused
    }
}
