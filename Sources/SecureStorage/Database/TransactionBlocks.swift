/// The blocks of a store that have to be in a transaction, one inside the other, and what their own
/// SQL may do to it.
///
/// A block begins and ends its transaction by itself. What would end it earlier, or begin another
/// one, is refused before it runs: what the block writes afterwards would be committed statement by
/// statement.
struct TransactionBlocks {
    private(set) var depth = 0
    /// Those that the app has set in a block, the newest last.
    ///
    /// What began before a block is not the block's to end.
    private var savepoints: [(name: SavepointName, depth: Int)] = []
    /// False for a step of a migration, which has to do the same when it is rehearsed beside
    /// others.
    var allowsSavepoints = true

    var isEmpty: Bool { depth == 0 }

    mutating func begin() { depth += 1 }

    mutating func end() {
        // They have ended with the block's own savepoint, or its transaction.
        while let last = savepoints.last, last.depth >= depth { savepoints.removeLast() }
        depth -= 1
    }

    /// - Throws: `.backingStoreError` code 21 for a statement that is not for the innermost block
    ///   to run.
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
                        + "part that may be taken back")
            }
        }
        switch control {
        case .release(let name), .rollbackTo(let name):
            guard position(of: name) == nil else { return }
            throw SecureStorageError.statementFailed(
                .misuse,
                "no savepoint of that name was set in this block, and a block cannot end what began before it"
            )
        default: break
        }
    }

    /// Notes what a statement has done.
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

    /// Where the innermost of that name is, among those of the innermost block.
    private func position(of name: SavepointName) -> Int? {
        savepoints.lastIndex { $0.name == name && $0.depth == depth }
    }
}
