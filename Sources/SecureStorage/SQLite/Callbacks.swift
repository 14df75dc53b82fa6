/// The state that a connection tracks while SQLite calls the caller's functions and collations.
///
/// Functions run in the middle of a step, where SQLite allows further statements but neither
/// closing the connection nor finalising the statement itself. Collations run in the middle of a
/// comparison, where it allows nothing.
struct Callbacks {
    /// The number of functions that are running, one inside the other.
    var functionDepth = 0
    var isComparing = false
    /// Whether the caller's progress handler is being called from inside the engine.
    var isReporting = false
    /// The last error message that a function reported itself, to distinguish it from the engine's
    /// own messages.
    var functionMessage: String?
    /// Whether `close()` was refused since the innermost call began.
    var wasCloseRefused = false

    var isRunning: Bool { functionDepth > 0 || isComparing }

    /// Whether the connection is inside a call of the engine that it must outlive.
    var refusesClose: Bool { isRunning || isReporting }

    /// The maximum nesting: each level puts a parser, a virtual machine and the caller's frames on
    /// one stack.
    static let maximumDepth = 32

    static var closed: SecureStorageError {
        .statementFailed(
            .misuse,
            "close() was called inside a function, collation or progress handler of the store, "
                + "which stays open; close it after the call has ended")
    }

    /// Throws if `close()` was refused, and clears the record of the refusal.
    ///
    /// - Throws: `.backingStoreError` code `.misuse` when it was refused; inside a function or
    ///   collation, the enclosing statement reports it instead.
    mutating func reportRefusedClose() throws {
        guard wasCloseRefused, !isRunning else { return }
        wasCloseRefused = false
        throw Self.closed
    }

    func requireNoComparison() throws {
        guard !isComparing else {
            throw SecureStorageError.statementFailed(
                .misuse, "a collation cannot run statements on the store that calls it")
        }
    }

    /// - Parameter action: The action that is refused, as in "the key cannot be changed".
    /// - Throws: `.backingStoreError` code `.misuse`.
    func requireOutside(_ action: String) throws {
        guard !isRunning else {
            throw SecureStorageError.statementFailed(
                .misuse, "\(action) inside a function or collation of the store")
        }
    }
}
