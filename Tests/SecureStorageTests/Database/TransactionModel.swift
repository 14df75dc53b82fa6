/// What a program of transaction control comes to, by the rules that `Docs/Concurrency.md` states,
/// without SQLite.
struct TransactionModel {
    /// What another connection sees.
    private(set) var committed: Set<Int> = []
    /// The open transaction and the savepoints of the blocks inside it; nil when each statement
    /// commits by itself.
    private var layers: [Set<Int>]?
    /// How many transaction blocks are running, one inside the other.
    private var depth = 0

    enum Step: CaseIterable {
        case begin, commit, rollback
        /// Throws out of the innermost block.
        case fail
        /// Runs the rest of the program in a transaction block of its own.
        case nest
        /// A batch that begins a transaction and leaves it open.
        case batch
        /// A batch that commits and goes on.
        case leave
        /// Lets SQLite itself roll the transaction back.
        case conflict
        /// Ends the innermost block with the answer that rolls back.
        case undo
    }

    enum Answer { case keeps, undoes, fails }

    /// Whether the transaction of the block around the next statement has ended.
    private var isBroken: Bool { depth > 0 && layers == nil }

    /// Each returns whether it succeeds.
    mutating func insert(_ number: Int, outermostCall: Bool = false) -> Bool {
        // The call of a queue or key-value store beside a transaction that it is not part of.
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
        // SQLite has rolled it back: that can be the answer to nothing but a wish to roll back.
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

    /// The end of a queue's block without a transaction around it.
    mutating func leavePlainBlock(_ answer: Answer) -> Bool {
        let leftNothingOpen = layers == nil
        layers = nil
        return leftNothingOpen && answer != .fails
    }
}
