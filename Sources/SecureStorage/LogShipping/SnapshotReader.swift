internal import SecureStoragePlatform

/// A connection with a read transaction that lasts until it is closed.
///
/// Closing or suspending the queue or pool ends it.
final class SnapshotReader: EndableRows {
    /// A reader is used only by the thread that has set `isInUse`, or that has taken it out.
    private let state = Locked(State())

    private struct State {
        var reader: RowReader?
        var isInUse = false
        /// Why it has ended.
        var end: SecureStorageError?
    }

    var yieldsToKeyChanges: Bool { true }

    init(_ access: any AccessPoint) throws {
        let reader = try access.makeRowReader(self)
        let end = state.withLock { state in
            if state.end == nil { state.reader = reader }
            return state.end
        }
        guard let end else { return }
        reader.close()
        throw end
    }

    deinit { close() }

    /// Passes the connection.
    ///
    /// - Throws: Why the reader has ended; the errors of `body`.
    func use<R>(_ body: (Connection) throws -> R) throws -> R {
        let reader = try state.withLock { state in
            if let end = state.end { throw end }
            guard let reader = state.reader else { throw SecureStorageError.closed }
            state.isInUse = true
            return reader
        }
        defer { stopUsing() }
        guard let connection = reader.store.connection else { throw SecureStorageError.closed }
        return try body(connection)
    }

    private func stopUsing() {
        let ended = state.withLock { state in
            state.isInUse = false
            return state.end == nil ? nil : state.reader.take()
        }
        ended?.close()
    }

    /// Begins a later read transaction on the same connection.
    func beginAnew() throws {
        try use {
            try $0.endSnapshot()
            try $0.beginSnapshot()
        }
    }

    /// Checks that the transaction has lasted until now.
    ///
    /// - Throws: Why it has ended.
    func requireOpen() throws { try use { _ in } }

    func close() { end(with: .closed) }

    func end(with error: SecureStorageError) {
        let reader: RowReader? = state.withLock { state in
            if state.end == nil { state.end = error }
            return state.isInUse ? nil : state.reader.take()
        }
        reader?.close()
    }
}
