/// A copy or a check that reads a queue's file beside the queue's calls, with a store of its own.
///
/// To such a reader, a change of the key looks like damage: some pages are under another key. So
/// what it has found counts only when the key is still the same afterwards; else it begins again.
final class BesideReading: EndableRows, @unchecked Sendable {
    // @unchecked: `wasEndedByCaller` is only touched in the turn of `queue`, and after it.
    private let queue: SecureDatabaseQueue
    private let source: Reopening
    private let register: RowRegister
    private var wasEndedByCaller = false

    /// How often it is tried beside the calls; after that they wait.
    static let attempts = 2

    /// Prepares to read the file of `store`, in its turn.
    ///
    /// - Throws: `.closed`, `.suspended`.
    init(_ store: SecureDatabaseStore) throws {
        _ = try store.openConnection()
        guard let source = store.source else { throw SecureStorageError.closed }
        self.source = source
        let reader = SecureDatabaseStore(reading: source, configuration: store.configuration)
        reader.suspensionFlag = store.suspensionFlag
        queue = SecureDatabaseQueue(databaseStore: reader)
        register = store.readings
        register.add(self, reader.interruption)
    }

    // One whose block has not begun.
    deinit { register.remove(ObjectIdentifier(self)) }

    // The flag of the suspension, which is looked at all the time, ends the copying.
    func end(with error: SecureStorageError) {}

    typealias Body<T> = (SecureDatabaseStore, FileProgress.Handler) throws -> T

    /// Runs `body` once, with a store that reads the file and is closed then.
    func run<T: Sendable>(_ progress: FileProgress.Handler, _ body: Body<T>) throws -> T {
        try queue.inDatabase { try run(on: $0, progress, body) }
    }

    func run<T: Sendable>(
        _ progress: @escaping @Sendable (FileProgress) throws -> Void,
        _ body: @escaping @Sendable (SecureDatabaseStore, FileProgress.Handler) throws -> T
    ) async throws -> T {
        try await queue.inDatabase { [self] in try run(on: $0, progress, body) }
    }

    private func run<T>(
        on store: SecureDatabaseStore, _ progress: FileProgress.Handler, _ body: Body<T>
    ) throws -> T {
        defer {
            store.close()
            register.remove(ObjectIdentifier(self))
        }
        return try withoutActuallyEscaping(progress) { progress in
            try body(store) {
                do {
                    try progress($0)
                } catch {
                    wasEndedByCaller = true
                    throw error
                }
            }
        }
    }

    /// Whether another key of the file may be what `body` has met.
    func mayBeOfKeyChange(_ error: any Error) -> Bool {
        guard !wasEndedByCaller, let error = error as? SecureStorageError else { return false }
        switch error {
        case .backingStoreError, .openFailed, .authenticationFailed: return true
        default: return false
        }
    }

    /// Whether the key was changed since; in the turn of `store`, so after a change that is being
    /// made.
    ///
    /// - Throws: `.closed`.
    func isOutdated(by store: SecureDatabaseStore) throws -> Bool {
        guard let now = store.source else { throw SecureStorageError.closed }
        return !now.hasSameKeys(as: source)
    }
}
