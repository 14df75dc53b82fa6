internal import CSQLCipher

/// The effect of a statement on a transaction, as SQLite's parser reports it.
enum TransactionControl {
    case begin, commit, rollback
    case savepoint(SavepointName), release(SavepointName), rollbackTo(SavepointName)

    /// - Parameters:
    ///   - action: The authorizer's action code.
    ///   - operation: The action's first text: `BEGIN`, `COMMIT`, `ROLLBACK` or `RELEASE`.
    ///   - name: The action's second text, for `SQLITE_SAVEPOINT`.
    init?(
        _ action: Int32, _ operation: UnsafePointer<CChar>?, _ name: UnsafePointer<CChar>?
    ) {
        guard let operation else { return nil }
        switch (action, String(cString: operation), name) {
        case (SQLITE_TRANSACTION, "BEGIN", _): self = .begin
        case (SQLITE_TRANSACTION, "COMMIT", _): self = .commit
        case (SQLITE_TRANSACTION, "ROLLBACK", _): self = .rollback
        case (SQLITE_SAVEPOINT, "BEGIN", let name?): self = .savepoint(SavepointName(name))
        case (SQLITE_SAVEPOINT, "RELEASE", let name?): self = .release(SavepointName(name))
        case (SQLITE_SAVEPOINT, "ROLLBACK", let name?): self = .rollbackTo(SavepointName(name))
        default: return nil
        }
    }
}

/// The name of a savepoint, compared as in SQLite: by bytes, ignoring the case of ASCII letters.
struct SavepointName: Equatable {
    private let folded: [UInt8]

    init(_ text: UnsafePointer<CChar>) {
        folded = String(cString: text).utf8.map { (0x41...0x5a).contains($0) ? $0 | 0x20 : $0 }
    }
}
