internal import Foundation
internal import Logging

// What the calls that a queue and a pool have in common need of a queue.

extension SecureDatabaseQueue: AccessPoint {
    /// Used by the library's own calls on a reader.
    public var access: SecureDatabaseAccess { SecureDatabaseAccess(point: self) }

    var observed: ObservedStore {
        let store = databaseStore
        return ObservedStore(
            feed: store.changes, path: store.databaseURL.path,
            logger: { [logger = store.configuration.logger] in logger.warning("\($0)") },
            schedule: { [self] block in enqueue { block($0.connection) } }, owner: self)
    }

    /// Opens a read-only connection to the store's file, in its snapshot.
    func makeRowReader(_ rows: any EndableRows) throws -> RowReader {
        let identifier = ObjectIdentifier(rows)
        // In the turn, so that nobody changes the key or closes the store meanwhile.
        return try inTurn { store in
            _ = try store.openConnection()
            guard let source = store.source else { throw SecureStorageError.closed }
            let reader = SecureDatabaseStore(reading: source, configuration: store.configuration)
            reader.suspensionFlag = store.suspensionFlag
            try reader.beginSnapshot()
            let register = store.rows
            register.add(rows, reader.interruption)
            return RowReader(
                store: reader, run: { try $0() },
                close: {
                    reader.close()
                    register.remove(identifier)
                })
        }
    }

    /// Runs `body` with a store that reads the file beside this queue, again when the key has
    /// changed.
    ///
    /// - Parameters:
    ///   - progress: What it throws ends the work.
    ///   - isSure: Whether a result can be nothing else than true.
    ///   - body: Is done with the store when it returns.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `.closed`, `.suspended`.
    func readBeside<T: Sendable>(
        _ progress: FileProgress.Handler, isSure: (T) -> Bool, _ body: BesideReading.Body<T>
    ) throws -> T {
        for _ in 0..<BesideReading.attempts {
            let reading = try inTurn { try BesideReading($0) }
            let outcome = Result { try reading.run(progress, body) }
            switch outcome {
            case .success(let value) where isSure(value): return value
            case .failure(let error) where !reading.mayBeOfKeyChange(error): throw error
            default: break
            }
            guard try inTurn({ try reading.isOutdated(by: $0) }) else { return try outcome.get() }
        }
        return try inTurn { try BesideReading($0).run(progress, body) }
    }

    /// The same for tasks.
    func readBeside<T: Sendable>(
        _ progress: @escaping @Sendable (FileProgress) throws -> Void, isSure: (T) -> Bool,
        _ body: @escaping @Sendable (SecureDatabaseStore, FileProgress.Handler) throws -> T
    ) async throws -> T {
        for _ in 0..<BesideReading.attempts {
            let reading = try await inDatabase { try BesideReading($0) }
            let outcome: Result<T, any Error>
            do {
                outcome = .success(try await reading.run(progress, body))
            } catch {
                outcome = .failure(error)
            }
            switch outcome {
            case .success(let value) where isSure(value): return value
            case .failure(let error) where !reading.mayBeOfKeyChange(error): throw error
            default: break
            }
            let isOutdated = try await inDatabase { try reading.isOutdated(by: $0) }
            guard isOutdated else { return try outcome.get() }
        }
        return try await inDatabase { try BesideReading($0).run(progress, body) }
    }
}
