internal import Foundation

/// The changes that one observer has not fetched yet.
///
/// They are merged into one, so a slow observer uses no more memory than a fast one.
final class ChangeBuffer: @unchecked Sendable {
    // @unchecked: the properties below `lock` are only accessed under it.
    let wantsRowIDs: Bool
    /// Whether to include the shadow tables of virtual tables, which a query may have read.
    let wantsShadows: Bool
    private let lock = NSLock()
    private var tables: ObservedTables
    private var pending: DatabaseChange?
    private var waiting: [CheckedContinuation<DatabaseChange?, Never>] = []
    private var hasEnded = false

    init(_ tables: ObservedTables, wantsRowIDs: Bool, wantsShadows: Bool) {
        self.tables = tables
        self.wantsRowIDs = wantsRowIDs
        self.wantsShadows = wantsShadows
    }

    /// Adds a committed change.
    func add(_ change: DatabaseChange) {
        let delivery: (CheckedContinuation<DatabaseChange?, Never>, DatabaseChange)? =
            lock.withLock {
                guard !hasEnded, let part = tables.part(of: change, withRowIDs: wantsRowIDs) else {
                    return nil
                }
                if !waiting.isEmpty { return (waiting.removeFirst(), part) }
                pending?.merge(part)
                if pending == nil { pending = part }
                return nil
            }
        // Outside the lock, although this runs no code of the observer.
        delivery?.0.resume(returning: delivery?.1)
    }

    /// Observes other tables from now on, and filters the pending change again.
    func observe(_ tables: ObservedTables) {
        lock.withLock {
            self.tables = tables
            pending = pending.flatMap { tables.part(of: $0, withRowIDs: wantsRowIDs) }
        }
    }

    /// Observes all tables from now on, and drops the pending change.
    func observeAll() {
        lock.withLock {
            tables = .all
            pending = nil
        }
    }

    /// Returns the changes committed since the last call, or waits for the next one; nil when the
    /// task is cancelled.
    func next() async -> DatabaseChange? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isThere, change): (Bool, DatabaseChange?) = lock.withLock {
                    if hasEnded { return (true, nil) }
                    if let pending {
                        self.pending = nil
                        return (true, pending)
                    }
                    waiting.append(continuation)
                    return (false, nil)
                }
                if isThere { continuation.resume(returning: change) }
            }
        } onCancel: {
            end()
        }
    }

    func end() {
        let waiting = lock.withLock {
            hasEnded = true
            pending = nil
            defer { self.waiting = [] }
            return self.waiting
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }
}
