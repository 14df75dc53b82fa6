internal import Crypto
internal import Foundation

/// The steps that bring a file's schema from any earlier version of the program to this one's.
///
/// ```swift
/// var migrations = SchemaMigrations()
/// migrations.add(
///     "notes",
///     sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL)")
/// migrations.add("index of texts", sql: "CREATE INDEX note_text ON note (text)")
///
/// try migrations.apply(to: db)
/// ```
///
/// A file knows which steps it has been through: each is recorded in the table
/// `securestorage_migration`, in the transaction of the step, with a checksum. So the list only
/// ever grows at its end: a step that has been released keeps its place, its name and its text.
///
/// Each step is wholly in the file or not at all, also after a kill. Any number of threads and
/// processes may apply the same list at once; each step runs once. Foreign keys are not enforced
/// during a step, so that a table [can be
/// rebuilt](https://sqlite.org/lang_altertable.html#otheralter), but checked at its end.
/// `Docs/Migrations.md` has a worked example.
public struct SchemaMigrations: Sendable {
    private(set) var steps: [Step] = []

    /// One entry of the list.
    struct Step: Sendable {
        let name: String
        let checksum: String
        let body: @Sendable (SecureDatabaseStore) throws -> Void
    }

    /// A list without steps.
    public init() {}

    /// Adds a step that runs SQL.
    ///
    /// - Parameters:
    ///   - name: What the file remembers the step by: not empty, and no other step's.
    ///   - sql: Any number of statements, none of which begins or ends a transaction or a
    ///     savepoint. The checksum is the SHA-256 of this text, so that a later change of it is
    ///     noticed.
    public mutating func add(_ name: String, sql: String) {
        steps.append(
            Step(
                name: name,
                checksum: SHA256.hash(data: Data(sql.utf8))
                    .map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(),
                body: { try $0.executeStatements(sql) }))
    }

    /// Adds a step that is Swift code.
    ///
    /// - Parameters:
    ///   - name: What the file remembers the step by: not empty, and no other step's.
    ///   - revision: Stands for the code where SQL has its checksum. Files that were migrated with
    ///     another number are refused. Default: 1.
    ///   - body: Runs in the step's transaction. It neither begins nor ends one;
    ///     ``SecureDatabaseStore/inSavePoint(_:)`` is allowed. What it does outside of the database
    ///     is not taken back when the step fails, and is done again by the next attempt, and by a
    ///     rehearsal.
    public mutating func add(
        _ name: String, revision: Int = 1,
        _ body: @escaping @Sendable (SecureDatabaseStore) throws -> Void
    ) {
        steps.append(Step(name: name, checksum: "revision \(revision)", body: body))
    }

    /// Runs the steps that the file has not been through, each in a transaction of its own.
    ///
    /// A step that fails leaves the file as it was before that step; the steps before it stay.
    ///
    /// - Parameter db: Open, outside of a transaction, without open result sets.
    /// - Returns: The names of the steps that this call has run, in their order; none when another
    ///   thread or process was faster.
    /// - Throws: `.backingStoreError`, always before anything is changed: with code 17
    ///   (SQLITE_SCHEMA) when the file has been through a step that is not in the list, since a
    ///   newer program has written it; with code 21 (SQLITE_MISUSE) for a step whose checksum or
    ///   place has changed, for a list with an empty name or one that is there twice, inside a
    ///   transaction and beside an open result set; with code 8 for a read-only store. From a step:
    ///   SQLite's code, in a message that names the step; code 5 when another connection holds a
    ///   lock for longer than the busy timeout; code 19 when the step leaves rows that violate a
    ///   foreign key; code 21 when it begins or ends a transaction. What a body throws by itself
    ///   goes on as it is, and ``pending(in:)`` then begins with the name of the step. `.closed`.
    ///
    /// There is no error case for a newer file: no other call of this library gives code 17 to a
    /// caller who does not provoke it, so that is what tells "update the app" from all else.
    @discardableResult
    public func apply(to db: SecureDatabaseStore) throws -> [String] {
        // So that calls of queues and key-value stores on the store are part of the step that makes
        // them.
        try db.turn.run {
            // First of all what is wrong with the call: not only on the day when something is
            // pending.
            let run = try MigrationRun(steps, on: db)
            guard try !pending(in: db).isEmpty else { return [] }
            var applied: [String] = []
            try run.perform {
                // One of them at a time, and each time what the file says: somebody else may be at
                // it as well.
                while let name = try run.next() { applied.append(name) }
            }
            return applied
        }
    }

    /// The names of the steps that the file has not been through, in their order.
    ///
    /// Reads only: also for a read-only store, a pool's reader, and inside a transaction.
    ///
    /// - Parameter db: Open.
    /// - Returns: Names; none when the file is up to date.
    /// - Throws: `.backingStoreError` as ``apply(to:)``, for the list and for what the file has
    ///   been through; `.closed`.
    public func pending(in db: SecureDatabaseStore) throws -> [String] {
        try requireUsableNames()
        let count = try MigrationHistory(of: db).requireBeginning(of: steps)
        return steps[count...].map(\.name)
    }

    /// Runs the steps that the file has not been through in one transaction, and takes them all
    /// back.
    ///
    /// Tells whether ``apply(to:)`` would succeed on this very file. Other writers wait meanwhile.
    ///
    /// - Parameter db: As for ``apply(to:)``.
    /// - Returns: The names of the steps that were run.
    /// - Throws: As ``apply(to:)``. The file is as it was, whatever happens.
    public func rehearse(on db: SecureDatabaseStore) throws -> [String] {
        try db.turn.run {
            let run = try MigrationRun(steps, on: db)
            guard try !pending(in: db).isEmpty else { return [] }
            var rehearsed: [String] = []
            try run.perform { rehearsed = try run.rehearse() }
            return rehearsed
        }
    }

    private func requireUsableNames() throws {
        var names: Set<String> = []
        for (index, step) in steps.enumerated() {
            guard !step.name.isEmpty else {
                throw SecureStorageError.statementFailed(
                    .misuse, "migration \(index + 1) of the list has an empty name")
            }
            guard names.insert(step.name).inserted else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "two migrations are called \"\(step.name)\"; each needs a name of its own")
            }
        }
    }
}
