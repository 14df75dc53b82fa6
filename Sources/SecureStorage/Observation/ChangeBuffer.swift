internal import Foundation

/// What one observer has not fetched yet: the union of it, so that a slow observer takes no more
/// memory than a fast one.
final class ChangeBuffer: @unchecked Sendable {
    // @unchecked: everything below `lock` is only touched under it.
    let wantsRowIDs: Bool
    /// Whether the shadow tables of virtual tables are wanted, which a query may have read.
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

    /// Takes in what was committed.
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
        // Outside of the lock, though no code of the observer runs here.
        delivery?.0.resume(returning: delivery?.1)
    }

    /// Wants other tables from now on; what is pending is looked through again.
    func observe(_ tables: ObservedTables) {
        lock.withLock {
            self.tables = tables
            pending = pending.flatMap { tables.part(of: $0, withRowIDs: wantsRowIDs) }
        }
    }

    /// Wants all tables from now on, and drops what is pending.
    func observeAll() {
        lock.withLock {
            tables = .all
            pending = nil
        }
    }

    /// What has been committed since the last call, or will be next; nil when the task is
    /// cancelled.
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
