/// A copy or a check that reads a queue's file beside the queue's calls, with a separate store.
///
/// To such a reader, a key change looks like damage: some pages have another key. A finding
/// therefore counts only if the key is still the same afterwards; otherwise the work begins again.
final class SeparateReading: EndableRows, Sendable {
    private let queue: SecureDatabaseQueue
    private let source: Reopening
    private let register: RowRegister
    // nonisolated(unsafe): accessed only in the turn of `queue`, and after it.
    nonisolated(unsafe) private var wasEndedByCaller = false

    /// How often the work is tried beside the calls; after that, the calls wait.
    static let attempts = 2

    /// Prepares to read the file of `store`, in its turn.
    ///
    /// - Throws: `.closed`, `.suspended`.
    init(_ store: SecureDatabaseStore) throws {
        _ = try store.openConnection()
        guard let source = store.source else { throw SecureStorageError.closed }
        self.source = source
        let reader = SecureDatabaseStore(reading: source, configuration: store.configuration)
        reader.sharing.suspensionFlag = store.sharing.suspensionFlag
        queue = SecureDatabaseQueue(databaseStore: reader)
        register = store.sharing.readings
        register.add(self, reader.interruption)
    }

    // For a reading whose block has not begun.
    deinit { register.remove(ObjectIdentifier(self)) }

    // The suspension flag, which is checked all the time, ends the copying.
    func end(with error: SecureStorageError) {}

    typealias Body<T> = (SecureDatabaseStore, FileProgress.Handler) throws -> T

    /// Runs `body` once, with a store that reads the file and is closed afterwards.
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

    /// Whether `error` may be the result of a key change.
    func mayBeOfKeyChange(_ error: any Error) -> Bool {
        guard !wasEndedByCaller, let error = error as? SecureStorageError else { return false }
        switch error {
        case .backingStoreError, .openFailed, .authenticationFailed: return true
        default: return false
        }
    }

    /// Whether the key has changed since; called in the turn of `store`, so after any change in
    /// progress.
    ///
    /// - Throws: `.closed`.
    func isOutdated(by store: SecureDatabaseStore) throws -> Bool {
        guard let now = store.source else { throw SecureStorageError.closed }
        return !now.hasSameKeys(as: source)
    }
}
