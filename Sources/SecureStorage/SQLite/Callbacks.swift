/// What a connection has to know while SQLite calls the caller's functions and collations.
///
/// These run in the middle of a step, where SQLite allows further statements but not the end of the
/// connection nor of the statement itself, and in the middle of a comparison, where it allows
/// nothing.
struct Callbacks {
    /// How many functions are running, one inside the other.
    var functionDepth = 0
    var isComparing = false
    /// Whether the caller's handler of a progress is called from inside the engine.
    var isReporting = false
    /// What a function has last said with an error of its own, to tell it from what the engine
    /// says.
    var functionMessage: String?
    /// Whether `close()` was refused since the innermost call began.
    var wasCloseRefused = false

    var isRunning: Bool { functionDepth > 0 || isComparing }

    /// Whether the connection is inside a call of the engine that it must outlive.
    var refusesClose: Bool { isRunning || isReporting }

    /// Each level is a parser, a virtual machine and the caller's frames on one stack.
    static let maximumDepth = 32

    static var closed: SecureStorageError {
        .statementFailed(
            .misuse,
            "close() was called inside a function, collation or progress handler of the store, "
                + "which stays open; close it when the call has ended")
    }

    /// Forgets that `close()` was refused.
    ///
    /// - Throws: `.backingStoreError` code 21 when it was; inside a function or collation its
    ///   statement says so.
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

    /// - Parameter action: What cannot be done, as in "the key cannot be changed".
    /// - Throws: `.backingStoreError` code 21.
    func requireOutside(_ action: String) throws {
        guard !isRunning else {
            throw SecureStorageError.statementFailed(
                .misuse, "\(action) inside a function or collation of the store")
        }
    }
}
