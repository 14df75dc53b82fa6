package import Foundation
internal import SecureKeys
package import SecureStorage
package import TestSupport

/// Rows that prove which commit has made a state of a database, and that all of it is there.
///
/// Each transaction gets the next number. One row has the number, the range of the entries, and a
/// sum over all of them; every transaction changes it together with entries on other pages, old
/// and new ones. Pages of two different commits do not agree.
package enum Ledger {
    /// What the row says.
    package struct State: Hashable, Sendable, CustomStringConvertible {
        /// The number of transactions.
        package var commits: Int
        fileprivate var first: Int
        fileprivate var last: Int
        fileprivate var sum: Int

        package var description: String {
            "commit \(commits), entries \(first) to \(last), sum \(sum)"
        }
    }

    /// Old entries are removed, so that the file does not grow.
    private static let mostEntries = 200

    /// Creates the tables, with no entry.
    package static func create(_ db: SecureDatabaseStore) throws {
        try db.executeStatements(
            """
            CREATE TABLE state (id INTEGER PRIMARY KEY, commits, first, last, sum);
            INSERT INTO state VALUES (1, 0, 1, 0, 0);
            CREATE TABLE entry (number INTEGER PRIMARY KEY, value INTEGER, content);
            """)
    }

    /// Creates a database with a ledger.
    ///
    /// - Throws: The errors of the database.
    package static func create(at home: TemporaryDatabase) throws {
        let db = try home.openStore { $0.journalMode = .wal }
        defer { db.close() }
        try create(db)
    }

    /// Adds `count` entries of `bytes` bytes, and changes and removes others, within a transaction
    /// of the caller's.
    ///
    /// - Returns: The state after it.
    /// - Throws: The errors of the database.
    @discardableResult
    package static func commit(
        _ db: SecureDatabaseStore, count: Int = .random(in: 1...4),
        bytes: Int = .random(in: 0...3000)
    ) throws -> State {
        var state = try state(of: db)
        state.commits += 1
        for _ in 0..<count {
            state.last += 1
            let value = Int.random(in: 0..<1_000_000)
            try db.executeUpdate(
                "INSERT INTO entry VALUES (?, ?, randomblob(?))", state.last, value, bytes)
            state.sum += weight(state.last, value)
        }
        let changed = Int.random(in: state.first...state.last)
        state.sum -= try stored(changed, db)
        let value = Int.random(in: 0..<1_000_000)
        try db.executeUpdate("UPDATE entry SET value = ? WHERE number = ?", value, changed)
        state.sum += weight(changed, value)
        while state.last - state.first >= mostEntries {
            state.sum -= try stored(state.first, db)
            try db.executeUpdate("DELETE FROM entry WHERE number = ?", state.first)
            state.first += 1
        }
        try db.executeUpdate(
            "UPDATE state SET commits = ?, first = ?, last = ?, sum = ?", state.commits,
            state.first, state.last, state.sum)
        return state
    }

    private static func weight(_ number: Int, _ value: Int) -> Int { number * value % 1_000_003 }

    private static func stored(_ number: Int, _ db: SecureDatabaseStore) throws -> Int {
        try db.int("SELECT number * value % 1000003 FROM entry WHERE number = \(number)") ?? 0
    }

    private static func state(of db: SecureDatabaseStore) throws -> State {
        let rs = try db.executeQuery("SELECT commits, first, last, sum FROM state")
        defer { rs.close() }
        guard try rs.next() else { throw Failure("there is no state") }
        let numbers = (0..<4).map { rs.int(forColumnIndex: $0) ?? -1 }
        return State(commits: numbers[0], first: numbers[1], last: numbers[2], sum: numbers[3])
    }

    // MARK: - Checks

    /// Returns the state, if one commit can have made all of it.
    ///
    /// - Throws: ``Failure``; the errors of the database.
    package static func check(_ db: SecureDatabaseStore) throws -> State {
        let state = try state(of: db)
        let rs = try db.executeQuery(
            """
            SELECT count(*), coalesce(min(number), 1), coalesce(max(number), 0),
                coalesce(sum(number * value % 1000003), 0)
            FROM entry
            """)
        defer { rs.close() }
        guard try rs.next() else { throw Failure("there is no count") }
        let found = (0..<4).map { rs.int(forColumnIndex: $0) ?? -1 }
        guard found == [state.last - state.first + 1, state.first, state.last, state.sum] else {
            throw Failure("no commit has made this: \(state), but count, range and sum \(found)")
        }
        return state
    }

    /// Opens a file, and returns its state after the check.
    ///
    /// - Throws: As ``check(_:)``.
    package static func check(
        at url: URL, key: Data = TemporaryDatabase.key
    ) throws -> State {
        var configuration = SecureDatabaseConfiguration()
        configuration.secondInstance = .allowed
        let db = SecureDatabaseStore(url: url, configuration: configuration)
        try db.open(with: .raw(SecretBytes(copying: key)))
        defer { db.close() }
        return try check(db)
    }
}
