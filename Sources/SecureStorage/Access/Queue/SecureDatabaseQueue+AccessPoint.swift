internal import Foundation
internal import Logging

// A queue's side of the calls that queues and pools have in common.

extension SecureDatabaseQueue: AccessPoint {
    /// Used by the library's own calls on a reader.
    public var access: SecureDatabaseAccess { SecureDatabaseAccess(point: self) }

    var observed: ObservedStore {
        let store = databaseStore
        return ObservedStore(
            feed: store.sharing.changes, path: store.databaseURL.path,
            logger: { [logger = store.configuration.logger] in logger.warning("\($0)") },
            schedule: { [self] block in enqueue { block($0.connection) } }, owner: self)
    }

    /// Opens a read-only connection to the store's file, in its snapshot.
    func makeRowReader(_ rows: any EndableRows) throws -> RowReader {
        let identifier = ObjectIdentifier(rows)
        // In the queue's turn, so that no other thread changes the key or closes the store.
        return try inTurn { store in
            _ = try store.openConnection()
            guard let source = store.source else { throw SecureStorageError.closed }
            let reader = SecureDatabaseStore(reading: source, configuration: store.configuration)
            reader.sharing.suspensionFlag = store.sharing.suspensionFlag
            try reader.beginSnapshot()
            let register = store.sharing.rows
            register.add(rows, reader.interruption)
            return RowReader(
                store: reader, run: { try $0() },
                close: {
                    reader.close()
                    register.remove(identifier)
                })
        }
    }

    /// Runs `body` with a store that reads the file beside this queue, and again if the key has
    /// changed.
    ///
    /// - Parameters:
    ///   - progress: Ends the work by throwing.
    ///   - isSure: Whether a result is right even if the key was changed while `body` ran.
    ///   - body: Must not use the store after it returns.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `.closed`, `.suspended`.
    func readBeside<T: Sendable>(
        _ progress: FileProgress.Handler, isSure: (T) -> Bool, _ body: SeparateReading.Body<T>
    ) throws -> T {
        for _ in 0..<SeparateReading.attempts {
            let reading = try inTurn { try SeparateReading($0) }
            let outcome = Result { try reading.run(progress, body) }
            switch outcome {
            case .success(let value) where isSure(value): return value
            case .failure(let error) where !reading.mayBeOfKeyChange(error): throw error
            default: break
            }
            guard try inTurn({ try reading.isOutdated(by: $0) }) else { return try outcome.get() }
        }
        return try inTurn { try SeparateReading($0).run(progress, body) }
    }

    /// The asynchronous form.
    func readBeside<T: Sendable>(
        _ progress: @escaping @Sendable (FileProgress) throws -> Void, isSure: (T) -> Bool,
        _ body: @escaping @Sendable (SecureDatabaseStore, FileProgress.Handler) throws -> T
    ) async throws -> T {
        for _ in 0..<SeparateReading.attempts {
            let reading = try await inDatabase { try SeparateReading($0) }
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
        return try await inDatabase { try SeparateReading($0).run(progress, body) }
    }
}
