// How a pool and a queue make the connection of an iteration over rows.

/// The connection of an iteration, in its snapshot.
struct RowReader {
    let store: SecureDatabaseStore
    /// Runs a part of the iteration.
    let run: (() throws -> Void) throws -> Void
    /// Called once, when no part runs.
    let close: () -> Void
}

extension SecureDatabasePool {
    /// Takes a reader out of the pool, in its snapshot.
    ///
    /// It has a slot until then, so that neither a change of the key nor the closing of the pool
    /// comes between; afterwards it has none, so that a loop may wait for other reads.
    func makeRowReader(_ rows: any EndableRows) throws -> RowReader {
        let slot = try connections.enter()
        let place = slot.place
        defer { connections.leave(place, with: nil) }
        let reader = try slot.reader ?? makeReader(for: slot)
        do {
            try reader.beginSnapshot()
            connections.rows.add(rows, reader.interruption)
            // Either this sees that the pool is being closed, or who closes it sees the rows.
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
                // A copy stays as long as it is read.
                withExtendedLifetime(slot.source) { connections.discard(reader) }
                connections.rows.remove(identifier)
                connections.changeAsLast { $0.endRows(place) }
            })
    }
}

extension SecureDatabaseQueue {
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
}

extension SecureDatabaseStore {
    /// A read-only store on a file whose derived key is known.
    convenience init(reading source: Reopening, configuration: SecureDatabaseConfiguration) {
        var readOnly = configuration
        readOnly.isReadOnly = true
        self.init(fullDatabasePath: source.path, configuration: readOnly)
        reopening = source
    }
}
