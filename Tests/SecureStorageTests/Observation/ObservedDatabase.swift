import Foundation
import SecureStorage
import TestSupport

/// A queue on a new file, for tests that examine the changes it reports.
struct ObservedDatabase {
    let database: TemporaryDatabase
    let queue: SecureDatabaseQueue

    /// Runs `schema` before any observation begins.
    init(
        _ schema: String = "CREATE TABLE t (id INTEGER PRIMARY KEY, a); CREATE TABLE u (a)",
        configure: (inout SecureDatabaseConfiguration) -> Void = { _ in }
    ) throws {
        database = try TemporaryDatabase()
        queue = SecureDatabaseQueue(databaseStore: try database.openStore(configure: configure))
        try run(schema + "; CREATE TABLE marker (a)")
    }

    func run(_ sql: String) throws {
        try queue.inDatabase { try $0.executeStatements(sql) }
    }

    /// Returns the changes reported for a batch, whose error is ignored; empty if there are none.
    func tables(
        changedBy sql: String, in tables: [String]? = nil, rowIDs: Bool = false
    ) async throws -> [String: DatabaseChange.Table] {
        try await self.tables(in: tables, rowIDs: rowIDs) { try $0.executeStatements(sql) }
    }

    /// Returns the changes reported for a block, whose error is ignored; empty if there are none.
    func tables(
        in tables: [String]? = nil, rowIDs: Bool = false,
        changedBy block: (SecureDatabaseStore) throws -> Void
    ) async throws -> [String: DatabaseChange.Table] {
        var iterator = queue.changes(in: tables.map { $0 + ["marker"] }, rowIDs: rowIDs)
            .makeAsyncIterator()
        perform(block)
        // Ensures that there is a change to report.
        try run("INSERT INTO marker VALUES (1)")
        let change = await iterator.next()
        guard let change, !change.hasUnknownTables, !change.includesForeign else {
            throw UnknownTables()
        }
        return change.tables.filter { $0.key != "marker" }
    }

    private func perform(_ block: (SecureDatabaseStore) throws -> Void) {
        try? queue.inDatabase { try block($0) }
    }

    struct UnknownTables: Error {}
}

extension [String: DatabaseChange.Table] {
    var kinds: [String: DatabaseChange.Kinds] { mapValues(\.kinds) }
}
