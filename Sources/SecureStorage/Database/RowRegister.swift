internal import Foundation

/// A reader that has its own connection to a file and that the pool or store of that file can end.
protocol EndableRows: AnyObject, Sendable {
    /// Closes the reader's connection as soon as no row is being read, without waiting for that.
    ///
    /// - Parameter error: The error that any further read throws.
    func end(with error: SecureStorageError)
}

/// The readers that currently have a connection.
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
        // A nil reference is a reader that is already closing itself.
        for rows in lock.withLock({ entries.values.map(\.rows) }) { rows?.end(with: error) }
    }

    /// Interrupts the running statements.
    func interruptAll(_ cause: SecureDatabaseInterruption) {
        for entry in lock.withLock({ Array(entries.values) }) {
            entry.interruption.interrupt(cause)
        }
    }

    /// Calls `body` once, as soon as the register is empty.
    func whenEmpty(_ body: @escaping @Sendable () -> Void) {
        let isEmpty = lock.withLock {
            if !entries.isEmpty { whenEmpty.append(body) }
            return entries.isEmpty
        }
        if isEmpty { body() }
    }
}
