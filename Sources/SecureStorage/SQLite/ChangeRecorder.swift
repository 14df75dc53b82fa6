/// Follows the statements and transactions of a connection, and tells what was committed.
///
/// The commit hook alone would be too early, since a commit can still fail: what counts is the
/// state after the statement.
///
/// Not thread-safe, like its connection.
final class ChangeRecorder {
    /// A savepoint, or the transaction itself, and what was changed in it.
    private struct Layer {
        /// nil for the transaction.
        let savepoint: String?
        var changes = RecordedChanges()
        /// Of the statement whose facts are in `changes`: most run many times.
        var knownFacts = 0
    }

    /// A table while the statement runs that writes to it.
    private struct Running {
        /// The name in the schema, which cannot change meanwhile.
        let name: UnsafePointer<CChar>
        var kinds: DatabaseChange.Kinds
        /// nil when they are too many, or not wanted.
        var rowIDs: [Int64]?
    }

    /// Gets what was committed, and the tables behind virtual tables.
    private let publish: (DatabaseChange, _ shadows: Set<String>) -> Void
    /// Called before it is asked whether others have committed.
    let willAsk: () -> Void
    /// Whether row ids are wanted.
    var recordsRowIDs: Bool

    private var layers = [Layer(savepoint: nil)]
    private var running: [Running] = []
    /// Of statements that functions have run inside the one that is running.
    private var nested = Layer(savepoint: nil)
    private var depth = 0
    private var sawCommit = false
    private var sawRollback = false
    /// Committed, but not told yet.
    private(set) var committed: [RecordedChanges] = []

    /// Of the statement that is being prepared; nil when nothing has been asked.
    var facts: StatementFacts?
    private var factsCount = 0
    /// Of the one that was prepared last.
    private(set) var preparedFacts: StatementFacts?
    /// Whether the library's own questions are being prepared.
    var isPaused = false
    /// Whether the question for foreign commits waits for the end of a transaction.
    var owesQuestion = false
    /// `PRAGMA data_version` when it was last asked; nil when that has failed.
    var knownVersion: Int64?
    /// The question, prepared when first asked; the connection ends it.
    var versionQuery: OpaquePointer?
    var schema = ObservedSchema()
    /// Tells the rows of this connection in the change log from those of others.
    let writer = Int64.random(in: .min ... .max)
    /// The newest row of the change log before which none of another connection is unread.
    var lastLogged: Int64 = 0
    /// The newest row that this connection has written; nil when its transaction was rolled back.
    var ownLogged: Int64?

    /// The caller's count of changed rows, when a row of the log has been written since.
    var countBeforeLog: Int?

    /// What the transaction has changed up to now.
    var pending: RecordedChanges {
        layers.reduce(into: RecordedChanges()) { $0.merge($1.changes) }
    }

    init(
        recordsRowIDs: Bool, isInTransaction: Bool, willAsk: @escaping () -> Void,
        publish: @escaping (DatabaseChange, _ shadows: Set<String>) -> Void
    ) {
        self.recordsRowIDs = recordsRowIDs
        self.willAsk = willAsk
        self.publish = publish
        // What the transaction has done before nobody has seen.
        layers[0].changes.isUnknown = isInTransaction
    }

    func tell(_ change: DatabaseChange) { publish(change, schema.shadows) }

    // MARK: - Hooks

    func noteRow(_ kind: DatabaseChange.Kinds, _ table: UnsafePointer<CChar>, _ rowID: Int64) {
        guard let index = running.lastIndex(where: { $0.name == table }) else {
            running.append(
                Running(name: table, kinds: kind, rowIDs: recordsRowIDs ? [rowID] : nil))
            return
        }
        running[index].kinds.formUnion(kind)
        // A row can come more than once: twice the limit is still little memory.
        guard recordsRowIDs, let count = running[index].rowIDs?.count else { return }
        if count < 2 * DatabaseChange.Table.rowIDLimit {
            running[index].rowIDs?.append(rowID)
        } else {
            running[index].rowIDs = nil
        }
    }

    func noteCommit() { sawCommit = true }

    func noteRollback() { sawRollback = true }

    // MARK: - Statements

    /// Runs `body`, which prepares a statement.
    func preparing<R>(_ body: () throws -> R) rethrows -> R {
        let outer = facts
        facts = StatementFacts()
        defer {
            factsCount += 1
            facts?.number = factsCount
            preparedFacts = facts
            facts = outer
        }
        return try body()
    }

    /// What a step's end says.
    struct Outcome {
        /// Whether the step has not failed, and whether it was the last.
        let isSuccess: Bool
        let isEnd: Bool
        /// Whether SQLite's count of changed rows has grown.
        let hasChangedRows: Bool
        let isAutocommit: Bool
    }

    /// Runs a step of a statement.
    ///
    /// - Parameters:
    ///   - known: What is known of the statement; replaced when SQLite prepares it anew.
    ///   - mayReplace: Whether its text speaks of `REPLACE`.
    ///   - step: Says how it has ended.
    func recording(
        _ known: inout StatementFacts?, mayReplace: Bool, _ step: () -> Outcome
    ) {
        let (outerFacts, outerRunning) = (facts, running)
        var outerNested = Layer(savepoint: nil)
        swap(&outerNested, &nested)
        facts = nil
        running = []
        depth += 1
        let outcome = step()
        depth -= 1
        // Added to what is known: a virtual table prepares statements of its own in a step.
        if let facts {
            known = known.map { $0.merging(facts) } ?? facts
            factsCount += 1
            known?.number = factsCount
        }
        let ran = running
        swap(&outerNested, &nested)
        (facts, running) = (outerFacts, outerRunning)
        // One that has failed has been taken back, but for `ON CONFLICT FAIL`.
        if outcome.isSuccess || outcome.hasChangedRows {
            if depth > 0 {
                note(ran, known, outcome, mayReplace, in: &nested)
                nested.changes.merge(outerNested.changes)
            } else {
                let top = layers.count - 1
                note(ran, known, outcome, mayReplace, in: &layers[top])
                if !outerNested.changes.isEmpty {
                    layers[top].changes.merge(outerNested.changes)
                }
            }
        }
        if outcome.isSuccess, outcome.isEnd, let savepoint = known?.savepoint {
            apply(savepoint.0, savepoint.1)
        }
        settle(isAutocommit: outcome.isAutocommit)
    }

    private func note(
        _ ran: [Running], _ facts: StatementFacts?, _ outcome: Outcome, _ mayReplace: Bool,
        in layer: inout Layer
    ) {
        for table in ran {
            let replaces =
                (mayReplace || schema.mayReplace)
                && !table.kinds.isDisjoint(with: [.insert, .update])
            layer.changes.note(
                String(cString: table.name), table.kinds, replaces ? nil : table.rowIDs)
        }
        guard let facts else {
            // Never prepared under observation: that cannot be, and must not hide anything.
            if outcome.hasChangedRows { layer.changes.isUnknown = true }
            return
        }
        if outcome.hasChangedRows, facts.number == 0 || layer.knownFacts != facts.number {
            layer.knownFacts = facts.number
            layer.changes.writes.merge(facts.writes) { $0.union($1) }
            layer.changes.columns.merge(facts.columns) { $0.union($1) }
        }
        if outcome.isEnd, !facts.schema.isEmpty {
            layer.changes.schema.merge(facts.schema) { $0.union($1) }
        }
    }

    private func apply(_ operation: StatementFacts.Savepoint, _ name: String) {
        let index = layers.lastIndex { $0.savepoint?.lowercased() == name.lowercased() }
        switch operation {
        case .begin: layers.append(Layer(savepoint: name))
        case .release:
            // One that began before anybody observed has no layer.
            guard let index else { return }
            while layers.count > index, let layer = layers.popLast() {
                layers[layers.count - 1].changes.merge(layer.changes)
            }
        case .rollback:
            guard let index else { return }
            layers.removeLast(layers.count - index - 1)
            layers[index] = Layer(savepoint: layers[index].savepoint)
        }
    }

    /// Looks whether the transaction has ended, and how.
    func settle(isAutocommit: Bool) {
        guard sawCommit || sawRollback else {
            // A savepoint that nothing was written in.
            if isAutocommit, layers.count > 1 { collapse() }
            return
        }
        // Still in the transaction: a COMMIT that has failed.
        guard isAutocommit else {
            sawCommit = false
            return
        }
        let changes = collapse()
        if sawRollback { ownLogged = nil }
        if !sawRollback, !changes.isEmpty { committed.append(changes) }
        sawCommit = false
        sawRollback = false
    }

    @discardableResult
    private func collapse() -> RecordedChanges {
        defer { layers = [Layer(savepoint: nil)] }
        return layers.reduce(into: RecordedChanges()) { $0.merge($1.changes) }
    }

    /// What was committed since the last call.
    func takeCommitted() -> [RecordedChanges] {
        defer { committed = [] }
        return committed
    }
}
