internal import Foundation

/// The observers of one store, and what follows its file while there are any.
///
/// ```text
///  a call commits ──► hooks of the connection ──► ChangeRecorder ─┐
///                                                                 ├─► ChangeFeed ─► ChangeBuffer,
///  another process ─► FileWatch ─► a turn: PRAGMA data_version ───┘            one per observer
/// ```
final class ChangeFeed: @unchecked Sendable {
    // @unchecked: everything below is only touched under `lock`.
    private let lock = NSLock()
    private var buffers: [ObjectIdentifier: ChangeBuffer] = [:]
    private var wakeUps: WakeUps?

    /// Runs a block with the store when it is its turn, and does not wait for it.
    typealias Scheduler = @Sendable (@escaping @Sendable (SecureDatabaseStore) -> Void) -> Void

    // MARK: - Observers

    /// Takes in an observer, which sees what is committed in calls that come from now on.
    ///
    /// - Parameters:
    ///   - buffer: Gets the changes until `remove(_:_:)`.
    ///   - path: Of the file.
    ///   - logger: Told when the file cannot be watched.
    ///   - schedule: Gets its turn before those calls.
    ///   - whenFollowing: Called in that turn.
    func add(
        _ buffer: ChangeBuffer, path: String, logger: @escaping @Sendable (String) -> Void,
        _ schedule: @escaping Scheduler, whenFollowing: @escaping @Sendable () -> Void = {}
    ) {
        lock.withLock {
            buffers[ObjectIdentifier(buffer)] = buffer
            if wakeUps == nil {
                wakeUps = WakeUps(path: path, schedule: schedule) { [weak self] message in
                    logger(message)
                    self?.publish(.foreign, [])
                }
            }
        }
        schedule { store in
            if let connection = store.connection {
                store.changes.follow(connection, isReopened: false)
            }
            whenFollowing()
        }
    }

    /// Lets an observer go.
    func remove(_ buffer: ChangeBuffer, _ schedule: Scheduler) {
        let last: WakeUps? = lock.withLock {
            guard buffers.removeValue(forKey: ObjectIdentifier(buffer)) != nil, buffers.isEmpty
            else { return nil }
            defer { wakeUps = nil }
            return wakeUps
        }
        guard let last else { return }
        last.end()
        schedule { store in
            if let connection = store.connection {
                store.changes.follow(connection, isReopened: false)
            }
        }
    }

    var isObserved: Bool { lock.withLock { !buffers.isEmpty } }

    // MARK: - The connection

    /// Sees to it that the connection has hooks when there are observers, and only then; in its
    /// turn.
    ///
    /// With `isReopened`, anything can have happened to the file since it was last followed.
    func follow(_ connection: Connection, isReopened: Bool) {
        let (isObserved, wantsRowIDs, wakeUps) = lock.withLock {
            (!buffers.isEmpty, buffers.values.contains { $0.wantsRowIDs }, self.wakeUps)
        }
        let configuration = connection.configuration
        guard isObserved || configuration.keepsChangeLog && !configuration.isReadOnly else {
            connection.stopRecording()
            return
        }
        // Before it is asked for the first time: what comes later is an event.
        wakeUps?.begin()
        guard connection.recorder == nil else {
            connection.recorder?.recordsRowIDs = wantsRowIDs
            // The watch may be a new one.
            _ = connection.lookForForeignCommits(isLast: false)
            return
        }
        connection.startRecording(rowIDs: wantsRowIDs) { [weak self] in
            self?.lock.withLock { self?.wakeUps }?.willAsk()
        } publish: { [weak self] change, shadows in
            self?.publish(change, shadows)
        }
        if isReopened { publish(.foreign, []) }
    }

    private func publish(_ change: DatabaseChange, _ shadows: Set<String>) {
        let buffers = lock.withLock { Array(self.buffers.values) }
        guard !buffers.isEmpty else { return }
        var visible = change
        visible.tables = change.tables.filter { !shadows.contains($0.key.lowercased()) }
        for buffer in buffers { buffer.add(buffer.wantsShadows ? change : visible) }
    }
}
