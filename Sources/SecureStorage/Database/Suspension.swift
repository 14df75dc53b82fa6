internal import CPlatform
internal import Foundation

/// Whether the connections of a queue or a pool keep off their file; any thread may ask.
///
/// Asked before each statement, so without a lock.
final class SuspensionFlag: @unchecked Sendable {
    // @unchecked: the value is read and written as a whole.
    private let value: UnsafeMutablePointer<Int32>

    init() {
        value = .allocate(capacity: 1)
        value.initialize(to: 0)
    }

    deinit { value.deallocate() }

    var isOn: Bool { cplatform_load(value) != 0 }

    func set(_ isOn: Bool) {
        if isOn != self.isOn { cplatform_store(value, isOn ? 1 : 0) }
    }
}

/// The suspension of a store behind queues, whose turn sees to it that nobody else uses the
/// connection.
final class Suspension: @unchecked Sendable {
    // @unchecked: `state` is only touched under `lock`.
    let flag = SuspensionFlag()
    private let lock = NSLock()
    private var state = SuspensionState()

    /// Changes the state, and the flag with it.
    func change<R>(_ body: (inout SuspensionState) -> R) -> R {
        lock.withLock {
            defer { flag.set(state.refusesStatements) }
            return body(&state)
        }
    }
}

extension SecureDatabaseStore {
    /// Closes the connection, and with it every lock; the next call after the suspension opens it
    /// again.
    func rest() {
        guard isOpen() else { return }
        rows.endAll(with: .suspended)
        reopening = source
        closeConnection()
    }

    /// Opens the file again for its observers: what others have committed meanwhile is told then.
    func tellOfResumption() {
        guard isOpen(), changes.isObserved else { return }
        // When it cannot be opened, the next call says so.
        _ = try? openConnection()
    }
}

/// A copy of the file that is read while its pool is suspended; removed with the last reference,
/// since SQLite opens and locks a file by its name.
final class ReadableCopy: Sendable {
    private let path: String

    init(path: String) { self.path = path }

    deinit { DatabaseFile(resolvedPath: path).removeDraft() }
}
