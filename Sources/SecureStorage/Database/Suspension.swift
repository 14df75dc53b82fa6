internal import Foundation
internal import SecureStoragePlatform

/// Whether the connections of a queue or a pool must not use their file; readable from any thread.
typealias SuspensionFlag = SharedFlag

/// The suspension of a store used by queues, whose turn keeps others from using the connection.
final class Suspension: Sendable {
    let flag = SuspensionFlag()
    private let state = Locked(SuspensionState())

    /// Changes the state and updates the flag.
    func change<R>(_ body: (inout SuspensionState) -> R) -> R {
        state.withLock { state in
            defer { flag.set(state.refusesStatements) }
            return body(&state)
        }
    }
}

extension SecureDatabaseStore {
    /// Closes the connection and so releases every lock; the next call after the suspension reopens
    /// it.
    func rest() {
        guard isOpen() else { return }
        sharing.rows.endAll(with: .suspended)
        session.reopening = source
        closeConnection()
    }

    /// Reopens the file for its observers, which are then notified of changes made by other
    /// connections during the suspension.
    func notifyOfResumption() {
        guard isOpen(), sharing.changes.isObserved else { return }
        // If this fails, the next call reports it.
        _ = try? openConnection()
    }
}

/// A copy of the file that is read while its pool is suspended.
///
/// It is removed with the last reference, since SQLite opens and locks a file by name.
final class ReadableCopy: Sendable {
    private let path: String

    init(path: String) { self.path = path }

    deinit { DatabaseFile(resolvedPath: path).removeDraft() }
}
