internal import SecureStoragePlatform

/// The changes that one observer has not fetched yet.
///
/// They are merged into one, so a slow observer uses no more memory than a fast one.
final class ChangeBuffer: Sendable {
    let wantsRowIDs: Bool
    /// Whether to include the shadow tables of virtual tables, which a query may have read.
    let wantsShadows: Bool
    private let state: Locked<State>

    private struct State {
        var tables: ObservedTables
        var pending: DatabaseChange?
        var waiting: [CheckedContinuation<DatabaseChange?, Never>] = []
        var hasEnded = false
    }

    init(_ tables: ObservedTables, wantsRowIDs: Bool, wantsShadows: Bool) {
        state = Locked(State(tables: tables))
        self.wantsRowIDs = wantsRowIDs
        self.wantsShadows = wantsShadows
    }

    /// Adds a committed change.
    func add(_ change: DatabaseChange) {
        let delivery: (CheckedContinuation<DatabaseChange?, Never>, DatabaseChange)? =
            state.withLock { state in
                guard !state.hasEnded,
                    let part = state.tables.part(of: change, withRowIDs: wantsRowIDs)
                else { return nil }
                if !state.waiting.isEmpty { return (state.waiting.removeFirst(), part) }
                state.pending?.merge(part)
                if state.pending == nil { state.pending = part }
                return nil
            }
        // Outside the lock, although this runs no code of the observer.
        delivery?.0.resume(returning: delivery?.1)
    }

    /// Observes other tables from now on, and filters the pending change again.
    func observe(_ tables: ObservedTables) {
        state.withLock { state in
            state.tables = tables
            state.pending = state.pending.flatMap { tables.part(of: $0, withRowIDs: wantsRowIDs) }
        }
    }

    /// Observes all tables from now on, and drops the pending change.
    func observeAll() {
        state.withLock { state in
            state.tables = .all
            state.pending = nil
        }
    }

    /// Returns the changes committed since the last call, or waits for the next one; nil when the
    /// task is cancelled.
    func next() async -> DatabaseChange? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let (isThere, change): (Bool, DatabaseChange?) = state.withLock { state in
                    if state.hasEnded { return (true, nil) }
                    if let pending = state.pending {
                        state.pending = nil
                        return (true, pending)
                    }
                    state.waiting.append(continuation)
                    return (false, nil)
                }
                if isThere { continuation.resume(returning: change) }
            }
        } onCancel: {
            end()
        }
    }

    func end() {
        let waiting = state.withLock { state in
            state.hasEnded = true
            state.pending = nil
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume(returning: nil) }
    }
}
