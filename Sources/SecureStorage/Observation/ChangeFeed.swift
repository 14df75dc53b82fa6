internal import SecureStoragePlatform

/// The observers of one store, and the watch on its file while any exist.
///
/// ```text
///  a call commits ──► hooks of the connection ──► ChangeRecorder ─┐
///                                                                 ├─► ChangeFeed ─► ChangeBuffer,
///  another process ─► FileWatch ─► a turn: PRAGMA data_version ───┘            one per observer
/// ```
final class ChangeFeed: Sendable {
    private struct State {
        var buffers: [ObjectIdentifier: ChangeBuffer] = [:]
        var wakeUps: WakeUps?
    }

    private let state = Locked(State())

    /// Enqueues a block that runs in the store's turn, with its connection if it is open, and does
    /// not wait for it.
    typealias Scheduler = @Sendable (@escaping @Sendable (Connection?) -> Void) -> Void

    // MARK: - Observers

    /// Adds an observer, which sees what later calls commit.
    ///
    /// - Parameters:
    ///   - buffer: The buffer that receives the changes until `remove(_:_:)`.
    ///   - path: The path of the file.
    ///   - logger: Receives a message when the file cannot be watched.
    ///   - schedule: Enqueues a block ahead of those calls.
    ///   - whenFollowing: Called in the turn of that block.
    func add(
        _ buffer: ChangeBuffer, path: String, logger: @escaping @Sendable (String) -> Void,
        _ schedule: @escaping Scheduler, whenFollowing: @escaping @Sendable () -> Void = {}
    ) {
        state.withLock { state in
            state.buffers[ObjectIdentifier(buffer)] = buffer
            if state.wakeUps == nil {
                state.wakeUps = WakeUps(path: path, schedule: schedule) { [weak self] message in
                    logger(message)
                    self?.publish(.foreign, [])
                }
            }
        }
        schedule { [self] connection in
            if let connection { follow(connection, isReopened: false) }
            whenFollowing()
        }
    }

    /// Removes an observer.
    func remove(_ buffer: ChangeBuffer, _ schedule: Scheduler) {
        let last: WakeUps? = state.withLock { state in
            guard state.buffers.removeValue(forKey: ObjectIdentifier(buffer)) != nil,
                state.buffers.isEmpty
            else { return nil }
            defer { state.wakeUps = nil }
            return state.wakeUps
        }
        guard let last else { return }
        last.end()
        schedule { [self] connection in
            if let connection { follow(connection, isReopened: false) }
        }
    }

    var isObserved: Bool { state.withLock { !$0.buffers.isEmpty } }

    // MARK: - The connection

    /// Installs the connection's hooks if it has observers or writes a change log, and removes them
    /// otherwise; to be called in its turn.
    ///
    /// With `isReopened`, the file may have changed in any way since it was last followed.
    func follow(_ connection: Connection, isReopened: Bool) {
        let (isObserved, wantsRowIDs, wakeUps) = state.withLock { state in
            (
                !state.buffers.isEmpty, state.buffers.values.contains { $0.wantsRowIDs },
                state.wakeUps
            )
        }
        let configuration = connection.configuration
        guard isObserved || configuration.keepsChangeLog && !configuration.isReadOnly else {
            connection.stopRecording()
            return
        }
        // Before the first query of the data version: every later commit then raises an event.
        wakeUps?.begin()
        guard connection.recorder == nil else {
            connection.recorder?.recordsRowIDs = wantsRowIDs
            // The watch may be new, and have missed commits.
            _ = connection.checkForForeignCommits(isLast: false)
            return
        }
        connection.startRecording(rowIDs: wantsRowIDs) { [weak self] in
            self?.state.withLock { $0.wakeUps }?.willCheck()
        } publish: { [weak self] change, shadows in
            self?.publish(change, shadows)
        }
        if isReopened { publish(.foreign, []) }
    }

    private func publish(_ change: DatabaseChange, _ shadows: Set<String>) {
        let buffers = state.withLock { Array($0.buffers.values) }
        guard !buffers.isEmpty else { return }
        var visible = change
        visible.tables = change.tables.filter { table in
            let name = table.key.lowercased()
            // What sync keeps beside the app's tables says nothing to the app.
            return !shadows.contains(name) && !name.hasPrefix("securestorage_sync_")
        }
        for buffer in buffers { buffer.add(buffer.wantsShadows ? change : visible) }
    }
}
