internal import Foundation

/// What reads a file with a connection of its own, and can be ended by the pool or store beside
/// which it does.
protocol EndableRows: AnyObject, Sendable {
    /// Closes its connection as soon as no row is being read, and does not wait for that.
    ///
    /// - Parameter error: What whoever reads on gets.
    func end(with error: SecureStorageError)
}

/// Those that have a connection.
final class RowRegister: @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var entries: [ObjectIdentifier: Entry] = [:]
    private var whenEmpty: [@Sendable () -> Void] = []

    private struct Entry {
        weak var rows: (any EndableRows)?
        let interruption: Interruption
    }

    func add(_ rows: any EndableRows, _ interruption: Interruption) {
        lock.withLock {
            entries[ObjectIdentifier(rows)] = Entry(rows: rows, interruption: interruption)
        }
    }

    func remove(_ rows: ObjectIdentifier) {
        let calls: [@Sendable () -> Void] = lock.withLock {
            entries[rows] = nil
            guard entries.isEmpty else { return [] }
            defer { whenEmpty = [] }
            return whenEmpty
        }
        for call in calls { call() }
    }

    func endAll(with error: SecureStorageError) {
        // One that is nil is just closing itself.
        for rows in lock.withLock({ entries.values.map(\.rows) }) { rows?.end(with: error) }
    }

    /// Ends the statements that are running.
    func interruptAll(_ cause: SecureDatabaseInterruption) {
        for entry in lock.withLock({ Array(entries.values) }) {
            entry.interruption.interrupt(cause)
        }
    }

    /// Calls `body` once, as soon as there are none.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = lock.withLock {
            if !entries.isEmpty { whenEmpty.append(body) }
            return entries.isEmpty
        }
        if isEmpty { body() }
    }
}
