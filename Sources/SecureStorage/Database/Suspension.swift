internal import CPlatform
internal import Foundation

/// Whether the connections of a queue or a pool keep off their file; any thread may ask and tell.
final class Suspension: @unchecked Sendable {
    // @unchecked: the flag is read and written as a whole, `wishes` under `lock`.
    private let flag: UnsafeMutablePointer<Int32>
    private let lock = NSLock()
    /// Grows with each suspension and each end of one.
    private var wishes = 0

    init() {
        flag = .allocate(capacity: 1)
        flag.initialize(to: 0)
    }

    deinit { flag.deallocate() }

    /// Asked before each statement, so without the lock.
    var isOn: Bool { cplatform_load(flag) != 0 }

    /// Announces a suspension.
    func wish() -> Int {
        lock.withLock {
            wishes += 1
            return wishes
        }
    }

    /// Begins the suspension that was announced.
    ///
    /// - Returns: False when it has been ended, or another one announced, meanwhile.
    func begin(_ wish: Int) -> Bool {
        lock.withLock {
            guard wish == wishes else { return false }
            cplatform_store(flag, 1)
            return true
        }
    }

    /// Whether it has been ended, or another one announced, since.
    func isOutdated(_ wish: Int) -> Bool { lock.withLock { wish != wishes } }

    /// Ends a suspension, also one that has not begun.
    ///
    /// - Returns: Whether there was one that had begun.
    func end() -> Bool {
        lock.withLock {
            wishes += 1
            defer { cplatform_store(flag, 0) }
            return isOn
        }
    }
}

extension SecureDatabaseStore {
    /// Closes the connection, and with it every lock; the next call after the suspension opens it again.
    func rest() {
        guard isOpen() else { return }
        rows.endAll()
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

/// A copy of the file that is read while its pool is suspended; removed with the last reference, since SQLite opens and
/// locks a file by its name.
final class ReadableCopy: Sendable {
    private let path: String

    init(path: String) { self.path = path }

    deinit { DatabaseFile(resolvedPath: path).removeDraft() }
}
