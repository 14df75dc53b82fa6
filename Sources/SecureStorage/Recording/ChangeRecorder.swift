/// Follows the statements and transactions of a connection, and reports what was committed.
///
/// The commit hook alone would be too early, since the commit can still fail; what counts is the
/// state after the statement.
///
/// Not thread-safe, like its connection.
final class ChangeRecorder {
    /// A savepoint, or the transaction itself, with the changes made in it.
    private struct Layer {
        /// The savepoint's name; nil for the transaction.
        let savepoint: String?
        var changes = RecordedChanges()
        /// The number of the statement whose facts are in `changes`: most statements run many
        /// times.
        var knownFacts = 0
    }

    /// A table that the running statement writes to.
    private struct Running {
        /// The name in the schema, which cannot change while the statement runs.
        let name: UnsafePointer<CChar>
        var kinds: DatabaseChange.Kinds
        /// The ids of the rows written; nil when there are too many or they are not wanted.
        var rowIDs: [Int64]?
    }

    /// Receives what was committed, and the shadow tables of virtual tables.
    private let publish: (DatabaseChange, _ shadows: Set<String>) -> Void
    /// Called before the connection checks whether other connections have committed.
    let willCheck: () -> Void
    /// Whether row ids are wanted.
    var recordsRowIDs: Bool

    private var layers = [Layer(savepoint: nil)]
    private var running: [Running] = []
    /// The changes of statements that functions have run inside the running one.
    private var nested = Layer(savepoint: nil)
    private var depth = 0
    private var sawCommit = false
    private var sawRollback = false
    /// Changes that are committed but not published yet.
    private(set) var committed: [RecordedChanges] = []

    var preparation = Preparation()
    /// Whether the library is running its own queries, which are not recorded.
    var isPaused = false
    var schema = ObservedSchema()
    var foreign = ForeignCheckState()
    var log = ChangeLogState()

    /// The facts about statements that SQLite reports while it prepares them.
    struct Preparation {
        /// Of the statement that is being prepared; nil while none is.
        var facts: StatementFacts?
        /// Of the statement that was prepared last.
        fileprivate(set) var last: StatementFacts?
        fileprivate var count = 0

        /// Returns the facts with a new number.
        fileprivate mutating func numbered(_ facts: StatementFacts?) -> StatementFacts? {
            count += 1
            var facts = facts
            facts?.number = count
            return facts
        }
    }

    /// The state of the checks for commits of other connections.
    struct ForeignCheckState {
        /// Whether the check is postponed to the end of a transaction.
        var isOwed = false
        /// `PRAGMA data_version` when it was last queried; nil when that query failed.
        var version: Int64?
        /// The `PRAGMA data_version` statement, prepared at first use and finalised by the
        /// connection.
        var versionQuery: OpaquePointer?
    }

    /// What is known of the change log, in which each connection reports what it committed.
    struct ChangeLogState {
        /// Distinguishes this connection's rows from those of others.
        let writer = Int64.random(in: .min ... .max)
        /// The newest row up to which all rows of other connections have been read.
        var last: Int64 = 0
        /// The newest row that this connection has written; nil when its transaction was rolled
        /// back.
        var own: Int64?
        /// The caller's count of changed rows, if a row of the log has been written since.
        var countBefore: Int?
    }

    /// The changes that the transaction has made so far.
    var pending: RecordedChanges {
        layers.reduce(into: RecordedChanges()) { $0.merge($1.changes) }
    }

    init(
        recordsRowIDs: Bool, isInTransaction: Bool, willCheck: @escaping () -> Void,
        publish: @escaping (DatabaseChange, _ shadows: Set<String>) -> Void
    ) {
        self.recordsRowIDs = recordsRowIDs
        self.willCheck = willCheck
        self.publish = publish
        // The changes that the transaction made before this point were not observed.
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
        // A row can occur more than once; twice the limit is still little memory.
        guard recordsRowIDs, let count = running[index].rowIDs?.count else { return }
        if count < 2 * DatabaseChange.Table.rowIDLimit {
            running[index].rowIDs?.append(rowID)
        } else {
            running[index].rowIDs = nil
        }
    }

    /// Notes a write to a table that no hook reports: to a value that is open for writing.
    ///
    /// - Parameters:
    ///   - table: The name, in any case.
    ///   - rowID: The row.
    func noteUnseenUpdate(of table: String, _ rowID: Int64) {
        let top = layers.count - 1
        let known = layers[top].changes.rows.keys.first { $0.lowercased() == table.lowercased() }
        layers[top].changes.note(known ?? table, .update, recordsRowIDs ? [rowID] : nil)
    }

    func noteCommit() { sawCommit = true }

    func noteRollback() { sawRollback = true }

    // MARK: - Statements

    /// Runs `body`, which prepares a statement, and collects the statement's facts.
    func preparing<R>(_ body: () throws -> R) rethrows -> R {
        let outer = preparation.facts
        preparation.facts = StatementFacts()
        defer {
            preparation.last = preparation.numbered(preparation.facts)
            preparation.facts = outer
        }
        return try body()
    }

    /// The outcome of a step.
    struct Outcome {
        /// Whether the step succeeded, and whether it was the last one.
        let isSuccess: Bool
        let isEnd: Bool
        /// Whether SQLite's count of changed rows has grown.
        let hasChangedRows: Bool
        let isAutocommit: Bool
    }

    /// Runs a step of a statement and records its changes.
    ///
    /// - Parameters:
    ///   - known: The known facts about the statement; extended when SQLite prepares it again.
    ///   - mayReplace: Whether its text mentions `REPLACE`.
    ///   - step: Runs the step and returns its outcome.
    func recording(
        _ known: inout StatementFacts?, mayReplace: Bool, _ step: () -> Outcome
    ) {
        let (outerFacts, outerRunning) = (preparation.facts, running)
        var outerNested = Layer(savepoint: nil)
        swap(&outerNested, &nested)
        preparation.facts = nil
        running = []
        depth += 1
        let outcome = step()
        depth -= 1
        // Merged with the known facts: a virtual table prepares its own statements during a step.
        if let facts = preparation.facts {
            known = preparation.numbered(known.map { $0.merging(facts) } ?? facts)
        }
        let ran = running
        swap(&outerNested, &nested)
        (preparation.facts, running) = (outerFacts, outerRunning)
        // A failed statement was rolled back, except with `ON CONFLICT FAIL`.
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
            // Never prepared under observation: this should be impossible, but must not hide
            // anything.
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
            // A savepoint that began before the observation has no layer.
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

    /// Determines whether the transaction has ended, and how.
    func settle(isAutocommit: Bool) {
        guard sawCommit || sawRollback else {
            // A savepoint in which nothing was written.
            if isAutocommit, layers.count > 1 { collapse() }
            return
        }
        // Still in the transaction: a COMMIT has failed.
        guard isAutocommit else {
            sawCommit = false
            return
        }
        let changes = collapse()
        if sawRollback { log.own = nil }
        if !sawRollback, !changes.isEmpty { committed.append(changes) }
        sawCommit = false
        sawRollback = false
    }

    @discardableResult
    private func collapse() -> RecordedChanges {
        defer { layers = [Layer(savepoint: nil)] }
        return layers.reduce(into: RecordedChanges()) { $0.merge($1.changes) }
    }

    /// Returns what was committed since the last call.
    func takeCommitted() -> [RecordedChanges] {
        defer { committed = [] }
        return committed
    }
}
