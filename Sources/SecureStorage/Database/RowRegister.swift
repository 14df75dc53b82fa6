internal import SecureStoragePlatform

/// A reader that has its own connection to a file and that the pool or store of that file can end.
protocol EndableRows: AnyObject, Sendable {
    /// Closes the reader's connection as soon as no row is being read, without waiting for that.
    ///
    /// - Parameter error: The error that any further read throws.
    func end(with error: SecureStorageError)

    /// Whether a key change ends it, instead of waiting for its end.
    var yieldsToKeyChanges: Bool { get }
}

extension EndableRows {
    var yieldsToKeyChanges: Bool { false }
}

/// The readers that currently have a connection.
final class RowRegister: Sendable {
    private struct State {
        var entries: [ObjectIdentifier: Entry] = [:]
        var whenEmpty: [@Sendable () -> Void] = []
    }

    private let state = Locked(State())

    private struct Entry {
        weak var rows: (any EndableRows)?
        let interruption: Interruption
    }

    func add(_ rows: any EndableRows, _ interruption: Interruption) {
        state.withLock {
            $0.entries[ObjectIdentifier(rows)] = Entry(rows: rows, interruption: interruption)
        }
    }

    func remove(_ rows: ObjectIdentifier) {
        let calls: [@Sendable () -> Void] = state.withLock { state in
            state.entries[rows] = nil
            guard state.entries.isEmpty else { return [] }
            defer { state.whenEmpty = [] }
            return state.whenEmpty
        }
        for call in calls { call() }
    }

    func endAll(with error: SecureStorageError) {
        // A nil reference is a reader that is already closing itself.
        for rows in state.withLock({ $0.entries.values.map(\.rows) }) { rows?.end(with: error) }
    }

    /// Ends the readers that have no end of their own, before a key change.
    func endForKeyChange() {
        let rows = state.withLock { $0.entries.values.compactMap(\.rows) }
        for rows in rows where rows.yieldsToKeyChanges {
            rows.end(with: .statementFailed(.busySnapshot, "the key is being changed"))
        }
    }

    /// Interrupts the running statements.
    func interruptAll(_ cause: SecureDatabaseInterruption) {
        for entry in state.withLock({ Array($0.entries.values) }) {
            entry.interruption.interrupt(cause)
        }
    }

    /// Calls `body` once, as soon as the register is empty.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = state.withLock { state in
            if !state.entries.isEmpty { state.whenEmpty.append(body) }
            return state.entries.isEmpty
        }
        if isEmpty { body() }
    }
}
