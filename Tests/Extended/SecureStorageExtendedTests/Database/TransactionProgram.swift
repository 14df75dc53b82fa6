import SecureStorage
@testable import SecureStorageTests

/// Runs a program on a store and on the model, step by step, and records where their answers
/// differ.
final class TransactionProgram {
    typealias Step = TransactionModel.Step
    typealias Block = (SecureDatabaseStore) throws -> Bool
    typealias Call = (@escaping Block) throws -> Void

    private let steps: [Step]
    /// Runs a nested block.
    private let nest: (SecureDatabaseStore, @escaping Block) throws -> Void
    /// Whether a block can answer with a rollback; if false, the answer always commits.
    private let canUndo: Bool
    private let insertRow: (SecureDatabaseStore, Int) throws -> Void
    /// Whether `insertRow` makes an outermost call when no block surrounds it.
    private let insertsOutermost: Bool
    private(set) var model = TransactionModel()
    private(set) var differences: [String] = []
    private var lastNumber = 0

    struct Failure: Error {}

    init(
        _ steps: [Step], canUndo: Bool = true, insertsOutermost: Bool = false,
        insertRow: @escaping (SecureDatabaseStore, Int) throws -> Void = {
            try $0.executeUpdate("INSERT INTO t VALUES (?)", $1)
        },
        nest: @escaping (SecureDatabaseStore, @escaping Block) throws -> Void
    ) {
        self.steps = steps
        self.canUndo = canUndo
        self.insertsOutermost = insertsOutermost
        self.insertRow = insertRow
        self.nest = nest
    }

    static let schema =
        "CREATE TABLE t (n INTEGER PRIMARY KEY); CREATE TABLE u (a UNIQUE); INSERT INTO u VALUES (1)"

    /// Returns all programs of up to `length` steps.
    static func all(upTo length: Int) -> [[Step]] {
        var all: [[Step]] = []
        var longest: [[Step]] = [[]]
        for _ in 0..<length {
            longest = longest.flatMap { steps in Step.allCases.map { steps + [$0] } }
            all += longest
        }
        return all
    }

    // MARK: - Running

    /// Runs the program in a call whose block is a transaction.
    func runInTransaction(_ call: Call) {
        runBlock("the call", steps[...], call)
    }

    /// Runs the program in a call whose block is not a transaction and cannot leave one open.
    func runInPlainBlock(_ call: Call) {
        var answer = TransactionModel.Answer.fails
        let succeeded = succeeds {
            try call { db in
                try self.answer(to: self.steps[...], db, &answer)
                return false
            }
        }
        expect("the call", succeeded, model.leavePlainBlock(answer))
    }

    /// Runs the program directly on a store; a transaction may stay open.
    func run(on db: SecureDatabaseStore) {
        var answer = TransactionModel.Answer.keeps
        try? self.answer(to: steps[...], db, &answer)
    }

    // MARK: - Steps

    private func runBlock(_ name: String, _ steps: ArraySlice<Step>, _ call: Call) {
        let begins = model.enterBlock()
        var answer = TransactionModel.Answer.fails
        var hasRun = false
        let succeeded = succeeds {
            try call { db in
                hasRun = true
                try self.answer(to: steps, db, &answer)
                return answer == .undoes
            }
        }
        expect(name + " begins", hasRun, begins)
        if begins { expect(name, succeeded, model.leaveBlock(answer)) }
    }

    private func answer(
        to steps: ArraySlice<Step>, _ db: SecureDatabaseStore,
        _ answer: inout TransactionModel.Answer
    ) throws {
        answer = .fails
        for (index, step) in zip(steps.indices, steps) {
            switch step {
            case .fail: throw Failure()
            case .undo:
                answer = canUndo ? .undoes : .keeps
                return
            case .nest:
                runBlock("nested", steps[(index + 1)...]) { try nest(db, $0) }
                insert(db)
                answer = .keeps
                return
            default: run(step, on: db)
            }
            insert(db)
        }
        answer = .keeps
    }

    private func run(_ step: Step, on db: SecureDatabaseStore) {
        switch step {
        case .begin: expect("begin", succeeds { try db.beginTransaction() }, model.begin())
        case .commit: expect("commit", succeeds { try db.commit() }, model.commit())
        case .rollback: expect("rollback", succeeds { try db.rollback() }, model.rollback())
        case .batch:
            let number = nextNumber()
            expect(
                "batch",
                succeeds { try db.executeStatements("BEGIN; INSERT INTO t VALUES (\(number))") },
                model.batch(number))
        case .leave:
            let (first, second) = (nextNumber(), nextNumber())
            expect(
                "leave",
                succeeds {
                    try db.executeStatements(
                        "INSERT INTO t VALUES (\(first)); COMMIT; INSERT INTO t VALUES (\(second))")
                },
                model.leave(first, second))
        case .conflict:
            expect(
                "conflict",
                succeeds { try db.executeUpdate("INSERT OR ROLLBACK INTO u VALUES (1)") },
                model.conflict())
        case .fail, .nest, .undo: break
        }
    }

    private func insert(_ db: SecureDatabaseStore) {
        let number = nextNumber()
        expect(
            "insert \(number)", succeeds { try insertRow(db, number) },
            model.insert(number, outermostCall: insertsOutermost))
    }

    private func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    private func succeeds(_ body: () throws -> Void) -> Bool {
        do {
            try body()
            return true
        } catch {
            return false
        }
    }

    private func expect(_ what: String, _ found: Bool, _ expected: Bool) {
        guard found != expected else { return }
        differences.append("\(steps): \(what) \(found ? "succeeds" : "fails")")
    }

    /// Compares the model with the rows that another connection sees.
    func judge(by rows: [Int]) {
        guard Set(rows) != model.committed else { return }
        differences.append("\(steps): \(rows.sorted()) instead of \(model.committed.sorted())")
    }
}
