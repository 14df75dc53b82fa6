/// The outcome of a transaction program by the rules in `Docs/Concurrency.md`, without SQLite.
struct TransactionModel {
    /// The rows that another connection sees.
    private(set) var committed: Set<Int> = []
    /// The open transaction and the savepoints of the blocks inside it; nil when each statement
    /// commits by itself.
    private var layers: [Set<Int>]?
    /// The number of transaction blocks that are running, one inside the other.
    private var depth = 0

    enum Step: CaseIterable {
        case begin, commit, rollback
        /// Throws an error out of the innermost block.
        case fail
        /// Runs the rest of the program in a nested transaction block.
        case nest
        /// A batch that begins a transaction and leaves it open.
        case batch
        /// A batch that commits and continues.
        case leave
        /// Makes SQLite itself roll back the transaction.
        case conflict
        /// Ends the innermost block with the answer that rolls back.
        case undo
    }

    enum Answer { case keeps, undoes, fails }

    /// Whether the transaction of the block that surrounds the next statement has ended.
    private var isBroken: Bool { depth > 0 && layers == nil }

    /// Inserts a row and returns, like each function below, whether the step succeeds.
    mutating func insert(_ number: Int, outermostCall: Bool = false) -> Bool {
        // A call of a queue or key-value store, beside a transaction that it is not part of.
        if outermostCall, depth == 0, layers != nil { return false }
        guard !isBroken else { return false }
        if let last = layers?.indices.last {
            layers?[last].insert(number)
        } else {
            committed.insert(number)
        }
        return true
    }

    mutating func begin() -> Bool {
        guard depth == 0, layers == nil else { return false }
        layers = [[]]
        return true
    }

    mutating func commit() -> Bool {
        guard depth == 0, let layers else { return false }
        for layer in layers { committed.formUnion(layer) }
        self.layers = nil
        return true
    }

    mutating func rollback() -> Bool {
        guard depth == 0, layers != nil else { return false }
        layers = nil
        return true
    }

    mutating func batch(_ number: Int) -> Bool { begin() && insert(number) }

    mutating func leave(_ first: Int, _ second: Int) -> Bool {
        insert(first) && commit() && insert(second)
    }

    mutating func conflict() -> Bool {
        if !isBroken { layers = nil }
        return false
    }

    mutating func enterBlock() -> Bool {
        guard !isBroken else { return false }
        layers = (layers ?? []) + [[]]
        depth += 1
        return true
    }

    mutating func leaveBlock(_ answer: Answer) -> Bool {
        depth -= 1
        // SQLite has rolled the transaction back, so only a block that asks for a rollback
        // succeeds.
        guard let last = layers?.popLast() else { return answer == .undoes }
        let isOutermost = layers?.isEmpty == true
        if isOutermost { layers = nil }
        guard answer == .keeps else { return answer == .undoes }
        if isOutermost {
            committed.formUnion(last)
        } else if let outer = layers?.indices.last {
            layers?[outer].formUnion(last)
        }
        return true
    }

    /// Ends a queue's block that is not a transaction.
    mutating func leavePlainBlock(_ answer: Answer) -> Bool {
        let leftNothingOpen = layers == nil
        layers = nil
        return leftNothingOpen && answer != .fails
    }
}
