/// The nested blocks of a store that require a transaction, and the transaction control that their
/// own SQL may use.
///
/// A block begins and ends its own transaction. A statement that would end it early, or begin
/// another one, is refused before it runs: the block's later writes would otherwise be committed
/// statement by statement.
struct TransactionBlocks {
    private(set) var depth = 0
    /// The savepoints that the app has set in a block, newest last.
    ///
    /// A block cannot end a savepoint that was set before it.
    private var savepoints: [(name: SavepointName, depth: Int)] = []
    /// False for a migration step, which must behave identically when rehearsed in one transaction
    /// with other steps.
    var allowsSavepoints = true

    var isEmpty: Bool { depth == 0 }

    mutating func begin() { depth += 1 }

    mutating func end() {
        // These savepoints ended with the block's own savepoint or transaction.
        while let last = savepoints.last, last.depth >= depth { savepoints.removeLast() }
        depth -= 1
    }

    /// Refuses transaction control that the innermost block must not run.
    ///
    /// - Throws: `.backingStoreError` code `.misuse`.
    func require(_ control: TransactionControl) throws {
        guard depth > 0 else { return }
        switch control {
        case .begin, .commit, .rollback:
            throw SecureStorageError.statementFailed(
                .misuse,
                "the transaction belongs to the block around this statement, which commits it when it "
                    + "returns; to roll it back, throw an error or return true, and use inSavePoint(_:) for a "
                    + "part of it")
        case .savepoint, .release, .rollbackTo:
            guard allowsSavepoints else {
                throw SecureStorageError.statementFailed(
                    .misuse,
                    "a step of a migration cannot set or end savepoints by itself; use inSavePoint(_:) for a "
                        + "part that may be rolled back")
            }
        }
        switch control {
        case .release(let name), .rollbackTo(let name):
            guard position(of: name) == nil else { return }
            throw SecureStorageError.statementFailed(
                .misuse,
                "no savepoint with that name was set in this block, and a block cannot end one set before it"
            )
        default: break
        }
    }

    /// Records the effect of a statement.
    mutating func note(_ control: TransactionControl) {
        guard depth > 0 else { return }
        switch control {
        case .begin, .commit, .rollback: break
        case .savepoint(let name): savepoints.append((name, depth))
        case .release(let name):
            if let position = position(of: name) { savepoints.removeSubrange(position...) }
        case .rollbackTo(let name):
            if let position = position(of: name) { savepoints.removeSubrange((position + 1)...) }
        }
    }

    /// Returns the position of the innermost savepoint of that name, among those of the innermost
    /// block.
    private func position(of name: SavepointName) -> Int? {
        savepoints.lastIndex { $0.name == name && $0.depth == depth }
    }
}
