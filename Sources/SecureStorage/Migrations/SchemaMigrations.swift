internal import Crypto
internal import Foundation
internal import SecureStoragePlatform

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
/// A file records which steps have been applied to it: each step adds a row with a checksum to the
/// table `securestorage_migration`, in its own transaction. The list therefore only grows at its
/// end: a released step keeps its position, its name and its text.
///
/// Each step is applied completely or not at all, even after a kill. Any number of threads and
/// processes may apply the same list at the same time; each step runs once. Foreign keys are not
/// enforced during a step, so that a table [can be
/// rebuilt](https://sqlite.org/lang_altertable.html#otheralter), but checked at its end.
/// `Docs/Migrations.md` has a worked example.
public struct SchemaMigrations: Sendable {
    private(set) var steps: [Step] = []

    /// One entry of the list.
    struct Step: Sendable {
        let name: String
        let checksum: String
        /// Whether `SecureSync` sends what it writes.
        let syncing: Bool
        let body: @Sendable (SecureDatabaseStore) throws -> Void
    }

    /// Creates an empty list.
    public init() {}

    /// Adds a step that runs SQL.
    ///
    /// - Parameters:
    ///   - name: The name under which the file records the step: not empty, and unique in the list.
    ///   - sql: Any number of statements, none of which begins or ends a transaction or a
    ///     savepoint. The checksum is the SHA-256 of this text, so that a later change to it is
    ///     detected.
    ///   - syncing: Whether what the step writes to tables that `SecureSync` syncs reaches the
    ///     other devices, as any write does. A step that drops a column of such a table is never
    ///     captured. See `Docs/Sync.md`. Default: true.
    public mutating func add(_ name: String, sql: String, syncing: Bool = true) {
        steps.append(
            Step(
                name: name,
                checksum: Hex.text(SHA256.hash(data: Data(sql.utf8))), syncing: syncing,
                body: { try $0.executeStatements(sql) }))
    }

    /// Adds a step that is Swift code.
    ///
    /// - Parameters:
    ///   - name: The name under which the file records the step: not empty, and unique in the list.
    ///   - revision: Serves as the checksum, since the code has none. Files that were migrated with
    ///     another number are refused. Default: 1.
    ///   - syncing: As for ``add(_:sql:syncing:)``.
    ///   - body: Runs in the step's transaction. It neither begins nor ends one;
    ///     ``SecureDatabaseStore/inSavePoint(_:)`` is allowed. Its effects outside the database are
    ///     not undone when the step fails, and happen again at the next attempt and in a rehearsal;
    ///     also if the step drops a column that `SecureSync` captures.
    public mutating func add(
        _ name: String, revision: Int = 1, syncing: Bool = true,
        _ body: @escaping @Sendable (SecureDatabaseStore) throws -> Void
    ) {
        steps.append(
            Step(
                name: name, checksum: "revision \(revision)", syncing: syncing, body: body))
    }

    /// Runs the steps not yet applied to the file, each in its own transaction.
    ///
    /// A failed step leaves the file as it was before that step; the steps before it stay applied.
    ///
    /// - Parameter db: Open, outside a transaction, without open result sets.
    /// - Returns: The names of the steps that this call ran, in order; none if another thread or
    ///   process was faster.
    /// - Throws: `.backingStoreError`, always before anything is changed: with code `.schema`
    ///   (SQLITE_SCHEMA) if a step that is not in the list has been applied to the file, because a
    ///   newer program wrote it; with code `.misuse` for a step whose checksum or position has
    ///   changed, for a list with an empty or duplicate name, inside a transaction and while a
    ///   result set is open; with code `.readOnly` for a read-only store. From a step: SQLite's
    ///   code, in a message that names the step; code `.busy` if another connection holds a lock
    ///   for longer than the busy timeout; code `.constraint` if the step leaves rows that violate
    ///   a foreign key; code `.misuse` if it begins or ends a transaction. Other errors of a body
    ///   are rethrown unchanged, and ``pending(in:)`` then begins with the name of the step.
    ///   `.closed`.
    ///
    /// A newer file has no separate error case: no other call of this library throws code `.schema`
    /// unless the caller provokes it, so the code distinguishes "update the app" from all other
    /// failures.
    @discardableResult
    public func apply(to db: SecureDatabaseStore) throws -> [String] {
        // Makes calls of queues and key-value stores on the store part of the step that makes them.
        try db.turn.run {
            // Checks the call itself first, so that a mistake does not surface only when something
            // is pending.
            let run = try MigrationRun(steps, on: db)
            guard try !pending(in: db).isEmpty else { return [] }
            var applied: [String] = []
            try run.perform {
                // One step at a time, reading the file's history each time: another connection may
                // be migrating the file as well.
                while let name = try run.next() { applied.append(name) }
            }
            return applied
        }
    }

    /// Returns the names of the steps not yet applied to the file, in order.
    ///
    /// Only reads: works on a read-only store, on a pool's reader, and inside a transaction.
    ///
    /// - Parameter db: Open.
    /// - Returns: The names; none if the file is up to date.
    /// - Throws: `.backingStoreError` as ``apply(to:)``, for the list and for the file's history;
    ///   `.closed`.
    public func pending(in db: SecureDatabaseStore) throws -> [String] {
        try requireUsableNames()
        let count = try MigrationHistory(of: db).requireBeginning(of: steps)
        return steps[count...].map(\.name)
    }

    /// Runs the steps not yet applied to the file in one transaction, and rolls them all back.
    ///
    /// Shows whether ``apply(to:)`` would succeed on this very file. Other writers wait in the
    /// meantime.
    ///
    /// - Parameter db: As for ``apply(to:)``.
    /// - Returns: The names of the steps that ran.
    /// - Throws: As ``apply(to:)``. The file is unchanged in any case.
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
                    "two migrations are named \"\(step.name)\"; each needs a unique name")
            }
        }
    }
}
