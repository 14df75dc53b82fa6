internal import Foundation
internal import SecureStorage

/// Reads what the browser shows, each page in a short transaction of its own.
///
/// No method is called by two threads at a time; ``interrupt()`` is for any thread.
final class BrowserPages: @unchecked Sendable {
    // @unchecked: `isInterrupted` is only accessed under `lock`; the queue has its own.
    private let queue: SecureDatabaseQueue
    private let lock = NSLock()
    private var isInterrupted = false

    /// The bytes of a value that are shown at most.
    static let longestValue = 4 << 20
    /// The rows of a view that can be reached, since each page reads those before it again.
    static let longestView = 100_000
    static let mostCounted = 100_000
    /// The rows that a search reads in a transaction.
    static let sliceLength = 20_000
    private static let patience = Duration.milliseconds(300)
    /// Counting delays nothing: a request interrupts it.
    private static let countingPatience = Duration.seconds(30)

    init(_ queue: SecureDatabaseQueue) { self.queue = queue }

    // MARK: - Interruption

    func interrupt() {
        lock.withLock { isInterrupted = true }
        queue.interrupt()
    }

    /// Forgets an interruption of work that has ended.
    func begin() { lock.withLock { isInterrupted = false } }

    func checkInterruption() throws {
        if lock.withLock({ isInterrupted }) { throw BrowserInterruption() }
    }

    // MARK: - Requests

    /// Answers a request; an error is an answer too.
    func answer(
        _ request: BrowserRequest, progress: @escaping (String) -> Void
    ) -> BrowserAnswer {
        do {
            try checkInterruption()
            return try result(of: request, progress)
        } catch let error as SecureStorageError where error.isInterrupted {
            if case .count(let name) = request { return .counted(name, .unknown) }
            return .interrupted
        } catch is BrowserInterruption {
            return .interrupted
        } catch let gone as TableIsGone {
            return .gone(gone.name)
        } catch {
            if case .count(let name) = request { return .counted(name, .unknown) }
            return .failed(Self.message(of: error))
        }
    }

    private func result(
        of request: BrowserRequest, _ progress: @escaping (String) -> Void
    ) throws -> BrowserAnswer {
        switch request {
        case .tables: .tables(try read { try $0.browsedTables() })
        case .page(let source, let place, let limit):
            .page(try page(of: source, at: place, limit: limit, progress))
        case .search(let source, let search, let key, let limit):
            try find(search, in: source, from: key, limit: limit, progress)
                .map { .found($0, columns: $1) } ?? .notFound
        case .cell(let place): .cell(place, try read { try $0.wholeValue(place) })
        case .schema(let name): .schema(name, try read { try $0.schemaText(of: name) })
        case .count(let name): .counted(name, try count(name))
        case .update(let place, let old, let new):
            try change { try $0.update(place, from: old, to: new) } ? .updated : Self.changed
        case .delete(let source, let row, let columns):
            try change { try $0.delete(row, of: source.table, columns: columns) }
                ? .deleted : Self.changed
        }
    }

    private static let changed = BrowserAnswer.failed(
        "another program has changed the row; nothing was written, r shows it again")

    /// Runs a read transaction.
    func read<T: Sendable>(_ body: (SecureDatabaseStore) throws -> T) throws -> T {
        try checkInterruption()
        return try queue.read { try body($0) }
    }

    /// Runs a write transaction, which is committed if exactly one row was changed.
    private func change(_ body: (SecureDatabaseStore) throws -> Int) throws -> Bool {
        try checkInterruption()
        do {
            try queue.write { db in
                guard try body(db) == 1 else { throw RowHasChanged() }
            }
            return true
        } catch is RowHasChanged {
            return false
        }
    }

    private func count(_ name: String) throws -> RowCount {
        let limit = Self.mostCounted
        let count = try read { db in
            try db.withDeadline(Self.countingPatience) {
                try db.executeQuery(
                    "SELECT count(*) FROM (SELECT 1 FROM \(SQLName.quoted(name)) LIMIT \(limit + 1))"
                ).firstInteger() ?? 0
            }
        }
        return count > limit ? .moreThan(limit) : .exactly(Int(count))
    }

    private func page(
        of source: RowSource, at place: PagePlace, limit: Int,
        _ progress: @escaping (String) -> Void
    ) throws -> RowPage {
        guard source.filter != nil else {
            return try read { try RowQuery($0, source).page(at: place, limit: limit) }
        }
        do {
            // An index may serve the condition.
            return try read { db in
                try db.withDeadline(Self.patience) {
                    try RowQuery(db, source).page(at: place, limit: limit)
                }
            }
        } catch let error as SecureStorageError where error.interruption == .deadline {
            return try slowPage(of: source, at: place, limit: limit, progress)
        }
    }

    /// The message for the last line of the screen, without the statement that has failed.
    static func message(of error: any Error) -> String {
        guard let failure = Failure(error) else { return "\(error)" }
        return Failure.withoutStatement(failure.message)
    }
}

/// The user has ended a request between two statements.
struct BrowserInterruption: Error {}

/// Another program has dropped or renamed the table.
struct TableIsGone: Error {
    let name: String
}

/// The row is not as it was shown.
private struct RowHasChanged: Error {}
