import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Every short program of begin, commit, rollback, error, nested block and batch, in every place
/// that can run one.
///
/// Each answer must be the model's, and afterwards a second connection must see exactly what was
/// reported as successful.
struct TransactionModelTests {
    /// Five steps in a campaign.
    private static let length = environmentNumber("SECURESTORAGE_TRANSACTION_STEPS", default: 2)

    enum Place: CaseIterable {
        case queueBlock, exclusive, deferred, immediate, savepoint, asyncBlock, asyncExclusive
        case poolWrite, poolBlock, asyncPoolWrite, keyValueBlock, store, keyValueBesideStore
    }

    let database: TemporaryDatabase
    let judge: SecureDatabaseStore

    init() throws {
        database = try TemporaryDatabase()
        judge = try database.openStore { $0.synchronous = .normal }
        try judge.executeStatements(TransactionProgram.schema)
    }

    @Test(arguments: Place.allCases)
    func `success is reported exactly for what another connection then sees`(
        _ place: Place
    ) async throws {
        let (database, judge) = (database, judge)
        let length = place.isAsynchronous ? min(Self.length, 4) : Self.length
        // Not on a task's thread, because it waits for tasks.
        nonisolated(unsafe) let unsafeJudge = judge
        let differences = try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(
                    with: Result {
                        try Self.differences(place, length, database, judge: unsafeJudge)
                    })
            }
        }
        check(differences.isEmpty, "\(differences.count), as \(differences.prefix(5))")
    }

    private static func differences(
        _ place: Place, _ length: Int, _ database: TemporaryDatabase, judge: SecureDatabaseStore
    ) throws -> [String] {
        let runner = try Runner(place, database)
        var differences: [String] = []
        for steps in Campaign.part(of: TransactionProgram.all(upTo: length)) {
            let program = runner.program(steps)
            runner.run(program)
            program.judge(by: try rows(judge))
            differences += program.differences
            try runner.clear()
        }
        return differences
    }

    private static func rows(_ judge: SecureDatabaseStore) throws -> [Int] {
        let stores = try judge.strings(
            "SELECT name FROM sqlite_schema WHERE name = 'securestorage_kv_1'")
        let keys =
            stores.isEmpty ? "" : " UNION ALL SELECT CAST(key AS INTEGER) FROM securestorage_kv_1"
        return try judge.strings("SELECT n FROM t" + keys).compactMap { $0.flatMap { Int($0) } }
    }

    @Test func `observers are notified of exactly what another connection then sees`() async throws
    {
        let observed = try ObservedDatabase(TransactionProgram.schema) { $0.synchronous = .normal }
        for steps in TransactionProgram.all(upTo: min(Self.length, 2)) {
            let program = TransactionProgram(
                steps, nest: { _, block in try observed.queue.inTransaction(block) })
            nonisolated(unsafe) let running = program
            let published = try await observed.tables(rowIDs: true) { db in
                running.runInPlainBlock { block in _ = try block(db) }
            }
            let rows = published["t"]?.rowIDs ?? []
            check(Set(rows.map(Int.init)), equals: program.model.committed, "\(steps)")
            try observed.run("DELETE FROM t")
        }
    }
}

/// One way to run programs, with its own connections.
private final class Runner {
    typealias Place = TransactionModelTests.Place

    private let place: Place
    private let store: SecureDatabaseStore
    private let queue: SecureDatabaseQueue
    private let pool: SecureDatabasePool?
    private let values: SecureKeyValueStore?

    init(_ place: Place, _ database: TemporaryDatabase) throws {
        self.place = place
        store = try database.openStore { $0.synchronous = .normal }
        queue = SecureDatabaseQueue(databaseStore: store)
        pool = place.isPool ? try database.openPool { $0.synchronous = .normal } : nil
        values =
            place.usesKeyValues
            ? try SecureKeyValueStore(databaseStore: store, name: "numbers") : nil
    }

    deinit { pool?.close() }

    func program(_ steps: [TransactionModel.Step]) -> TransactionProgram {
        let (queue, pool, values) = (queue, pool, values)
        if let pool {
            return TransactionProgram(
                steps, canUndo: false, nest: { _, block in try pool.write { _ = try block($0) } })
        }
        guard let values else {
            let isDirect = place == .store
            return TransactionProgram(
                steps,
                nest: { db, block in
                    if isDirect {
                        try db.inSavePoint(block)
                    } else {
                        try queue.inTransaction(block)
                    }
                })
        }
        let isDirect = place == .keyValueBesideStore
        return TransactionProgram(
            steps, insertsOutermost: isDirect,
            insertRow: { _, number in
                if number.isMultiple(of: 2) {
                    try values.put(number, forKey: "\(number)")
                } else {
                    _ = try values.compareAndSet("\(number)", expected: nil, new: number)
                }
            },
            nest: { db, block in
                if isDirect { try db.inSavePoint(block) } else { try queue.inSavePoint(block) }
            })
    }

    func run(_ program: TransactionProgram) {
        let (queue, pool) = (queue, pool)
        switch place {
        case .queueBlock, .keyValueBlock:
            program.runInPlainBlock { block in _ = try queue.inDatabase { try block($0) } }
        case .exclusive: program.runInTransaction { try queue.inExclusiveTransaction($0) }
        case .deferred: program.runInTransaction { try queue.inDeferredTransaction($0) }
        case .immediate: program.runInTransaction { try queue.inImmediateTransaction($0) }
        case .savepoint: program.runInTransaction { try queue.inSavePoint($0) }
        case .store, .keyValueBesideStore: program.run(on: store)
        case .poolWrite:
            program.runInTransaction { block in try pool?.write { _ = try block($0) } }
        case .poolBlock:
            program.runInPlainBlock { block in
                try pool?.writeWithoutTransaction { _ = try block($0) }
            }
        case .asyncBlock:
            program.runInPlainBlock { block in
                try Self.wait(block) { block in _ = try await queue.inDatabase { try block($0) } }
            }
        case .asyncExclusive:
            program.runInTransaction { block in
                try Self.wait(block) { try await queue.inExclusiveTransaction($0) }
            }
        case .asyncPoolWrite:
            program.runInTransaction { block in
                try Self.wait(block) { block in try await pool?.write { _ = try block($0) } }
            }
        }
    }

    private typealias SendableBlock = @Sendable (SecureDatabaseStore) throws -> Bool

    /// Makes a task's call and waits for it on a thread that is not a task's.
    private static func wait(
        _ block: @escaping TransactionProgram.Block,
        _ call: @escaping @Sendable (@escaping SendableBlock) async throws -> Void
    ) throws {
        // Only one thread uses them at a time: the waiting thread does nothing else.
        nonisolated(unsafe) let block = block
        nonisolated(unsafe) var outcome = Result<Void, any Error>.success(())
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            do {
                try await call { try block($0) }
            } catch {
                outcome = .failure(error)
            }
            done.signal()
        }
        done.wait()
        try outcome.get()
    }

    func clear() throws {
        if try store.isInTransaction() { try store.rollback() }
        try store.executeUpdate("DELETE FROM t")
        try values?.removeAll()
    }
}

extension TransactionModelTests.Place {
    var isAsynchronous: Bool {
        [.asyncBlock, .asyncExclusive, .asyncPoolWrite].contains(self)
    }
    var isPool: Bool { [.poolWrite, .poolBlock, .asyncPoolWrite].contains(self) }
    var usesKeyValues: Bool { [.keyValueBlock, .keyValueBesideStore].contains(self) }
}
