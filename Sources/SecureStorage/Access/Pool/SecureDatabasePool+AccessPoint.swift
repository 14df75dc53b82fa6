internal import Foundation
internal import Logging

// A pool's side of the calls that queues and pools have in common.

extension SecureDatabasePool: AccessPoint {
    /// Used by the library's own calls on a reader.
    public var access: SecureDatabaseAccess { SecureDatabaseAccess(point: self) }

    var observed: ObservedStore {
        ObservedStore(
            feed: connections.writer.sharing.changes, path: databaseURL.path,
            logger: { [logger = configuration.logger] in logger.warning("\($0)") },
            schedule: { [connections] block in
                connections.writer.turn.enqueue {
                    // A closed pool is observed once it is opened again.
                    try? connections.withWriter { block($0.connection) }
                }
            }, owner: self)
    }

    func perform<T>(
        _ kind: CallKind, groups: Bool, _ block: (SecureDatabaseStore) throws -> sending T
    ) throws -> sending T {
        guard kind == .read else { return try performWrite(kind, groups: groups, block) }
        return try read(block)
    }

    func perform<T: Sendable>(
        _ kind: CallKind, groups: Bool,
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        guard kind == .read else { return try await performWrite(kind, groups: groups, block) }
        return try await read(block)
    }

    /// Takes a reader out of the pool, in its snapshot.
    ///
    /// The reader has a slot until then, so that neither a key change nor the closing of the pool
    /// comes between. Afterwards it has none, so that a loop may wait for other reads.
    func makeRowReader(_ rows: any EndableRows) throws -> RowReader {
        let slot = try connections.enter()
        let place = slot.place
        defer { connections.leave(place, with: nil) }
        let reader = try slot.reader ?? makeReader(for: slot)
        do {
            try reader.beginSnapshot()
            connections.rows.add(rows, reader.interruption)
            // Either this sees that the pool is being closed, or the thread that closes it sees the
            // rows.
            guard connections.change({ $0.beginRows(place) }) else {
                throw SecureStorageError.closed
            }
        } catch {
            connections.rows.remove(ObjectIdentifier(rows))
            connections.discard(reader)
            throw error
        }
        let identifier = ObjectIdentifier(rows)
        return RowReader(
            store: reader,
            run: { body in
                try PoolBlock.run(.reading, of: self, on: reader) { try body() }
            },
            close: { [connections] in
                // A copy is kept as long as it is read.
                withExtendedLifetime(slot.source) { connections.discard(reader) }
                connections.rows.remove(identifier)
                connections.changeAsLast { $0.endRows(place) }
            })
    }

    /// A key change waits for the reader, so every result is right.
    func readBeside<T: Sendable>(
        _ progress: FileProgress.Handler, isSure: (T) -> Bool, _ body: SeparateReading.Body<T>
    ) throws -> T {
        try withoutActuallyEscaping(progress) { progress in
            try read { db -> T in try body(db, progress) }
        }
    }

    func readBeside<T: Sendable>(
        _ progress: @escaping @Sendable (FileProgress) throws -> Void, isSure: (T) -> Bool,
        _ body: @escaping @Sendable (SecureDatabaseStore, FileProgress.Handler) throws -> T
    ) async throws -> T {
        try await read { try body($0, progress) }
    }
}
