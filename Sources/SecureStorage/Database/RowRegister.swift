internal import Foundation

/// An iteration that the pool or store that it reads from can end.
protocol EndableRows: AnyObject, Sendable {
    /// Closes its connection as soon as no row is being read, and does not wait for that.
    func end()
}

/// The iterations that have a connection.
final class RowRegister: @unchecked Sendable {
    // @unchecked: `entries` is only touched under `lock`.
    private let lock = NSLock()
    private var entries: [ObjectIdentifier: Entry] = [:]

    private struct Entry {
        weak var rows: (any EndableRows)?
    }

    var isEmpty: Bool { lock.withLock { entries.isEmpty } }

    func add(_ rows: any EndableRows) {
        lock.withLock { entries[ObjectIdentifier(rows)] = Entry(rows: rows) }
    }

    func remove(_ rows: ObjectIdentifier) {
        lock.withLock { entries[rows] = nil }
    }

    func endAll() {
        // One that is nil is just closing itself.
        for rows in lock.withLock({ entries.values.map(\.rows) }) { rows?.end() }
    }
}
