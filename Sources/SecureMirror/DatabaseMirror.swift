package import Foundation
public import ObjectStores
public import SecureStorage
internal import SecureStoragePlatform

/// Keeps a database in a store, continuously: what was committed survives the loss of this machine.
///
/// ```swift
/// let mirror = try DatabaseMirror(of: pool, in: store, name: "notes")
/// let running = Task { try await mirror.run() }
/// try await mirror.flush()
/// ```
///
/// It ships the pages that commits have changed as they lie in the write-ahead log, which is
/// ciphertext: the store sees no key and no content. The database is in journal mode WAL. Writers
/// run as without a mirror; while the store cannot be reached, the log grows.
///
/// One mirror writes under a name. A second one that begins takes over, and the first one stops
/// with ``MirrorError/otherMirror(_:)``.
///
/// Thread-safe.
public final class DatabaseMirror: Sendable {
    /// The mirror's name in the store.
    public let name: String

    private let database: any SecureDatabaseReader
    private let settings: Settings
    private let writer: MirrorWriter
    private let shipping = WorkLine()
    private let maintenance = WorkLine()
    private let changes = StatusChanges(Status())

    /// Creates a mirror; nothing happens before ``run()`` or ``flush()``.
    ///
    /// - Parameters:
    ///   - database: An open queue or pool.
    ///   - store: Where the objects go.
    ///   - name: The beginning of their names: one or more components of ``/ObjectStores/ObjectName``.
    ///   - settings: How it ships, and what it keeps.
    /// - Throws: ``MirrorError/store(_:)`` with ``/ObjectStores/StoreError/invalidName(_:)``.
    public convenience init(
        of database: any SecureDatabaseReader, in store: any ObjectStore, name: String,
        settings: Settings = Settings()
    ) throws {
        try self.init(database, store, name, settings, MirrorClock())
    }

    /// Creates a mirror with another clock.
    ///
    /// `uptime` is the witness of `clock`; nil for none.
    ///
    /// - Throws: As the other one.
    package convenience init(
        of database: any SecureDatabaseReader, in store: any ObjectStore, name: String,
        settings: Settings, uptime: (@Sendable () -> Duration)? = nil,
        clock: @escaping @Sendable () -> Date
    ) throws {
        try self.init(database, store, name, settings, MirrorClock(clock, uptime: uptime))
    }

    private init(
        _ database: any SecureDatabaseReader, _ store: any ObjectStore, _ name: String,
        _ settings: Settings, _ clock: MirrorClock
    ) throws {
        self.name = name
        self.database = database
        self.settings = settings
        let place = MirrorPlace(names: try MirrorNames(name), store: store, clock: clock)
        writer = MirrorWriter(database, place, changes)
    }

    /// The state as of now.
    public var status: Status { changes.now }

    /// The current state and each later one; a slow reader misses some, never the last one.
    ///
    /// While nothing is committed, none follows, though ``Status/completeAt`` continues.
    public var statuses: AsyncStream<Status> { changes.stream() }

    /// Stores everything that was committed before the call, and returns when it is in the store.
    ///
    /// Callers that wait at the same time share one shipment. The call fails after the patience of
    /// the store with what it was; the commits remain, and are shipped later.
    ///
    /// - Throws: ``MirrorError``; the errors of the database.
    public func flush() async throws {
        try await shipping.runShared { [self] in
            let start = Date()
            do {
                try await writer.ship()
                changes.noteComplete(start)
            } catch let error as SecureStorageError where error.isSuspended || error == .closed {
                // The app wants it so.
                throw error
            } catch {
                changes.noteFailure(error)
                throw error
            }
        }
    }

    /// Merges what was stored, so that a restore reads few objects, removes what the settings do
    /// not keep, and stores a new snapshot when it is time; ``run()`` does it every minute.
    ///
    /// For a program that only flushes: call it after a flush, now and then.
    ///
    /// - Throws: ``MirrorError``; the errors of the database.
    public func maintain() async throws {
        try await maintenance.run { [self] in try await writer.maintain(settings) }
    }

    /// Removes at once what was stored with earlier keys of the database, for one that is known to
    /// others.
    ///
    /// Flushes first. Takes up to ten seconds longer, after which an older mirror of this name
    /// cannot mistake what is missing.
    ///
    /// - Throws: As ``flush()``.
    public func purgeOldKeys() async throws {
        // A suspension in between leaves nothing to compare the keys with.
        while try await !purged() {}
    }

    private func purged() async throws -> Bool {
        try await flush()
        let isPurged = Locked(false)
        try await maintenance.run { [self] in
            let isDone = try await writer.purgeOldKeys()
            isPurged.withLock { $0 = isDone }
        }
        return isPurged.withLock { $0 }
    }

    /// Ships what is committed until the task is cancelled, at most a second behind.
    ///
    /// A failure of the store that may pass is shown in ``status``, and the call keeps trying,
    /// after 1 second, then 2, and so on up to a minute. While the queue or pool is suspended,
    /// nothing is shipped and no lock is held.
    ///
    /// - Throws: `CancellationError`; ``MirrorError`` of other kinds; the errors of the database.
    public func run() async throws {
        let maintenance = Task { await maintainEveryMinute() }
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await follow())
        } catch {
            outcome = .failure(error)
        }
        maintenance.cancel()
        // Which ends a snapshot that is being stored, before it is waited for.
        try await shipping.run { [self] in await writer.rest() }
        await maintenance.value
        try await shipping.run { [self] in await writer.rest() }
        try outcome.get()
    }

    private func follow() async throws {
        var pause = Duration.seconds(1)
        while true {
            do {
                try await flush()
                pause = .seconds(1)
            } catch let error as MirrorError where error.isTransient {
                try await shipping.run { [self] in await writer.letGo(ofMoreThan: settings.logLimit)
                }
                changes.update { $0.nextTry = Date() + pause / .seconds(1) }
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
                continue
            } catch let error as SecureStorageError where error.isSuspended || error == .closed {
                // The next commit is one after the suspension, or after the next opening.
            }
            try await collectCommits()
        }
    }

    /// Waits for the next shipment, and lets checkpoints empty the log in the meantime, which wait
    /// for the mirror's read transaction.
    private func collectCommits() async throws {
        let end = ContinuousClock.now + settings.interval
        while true {
            let left = end - .now
            guard left > .seconds(1) else { return try await Task.sleep(for: left) }
            try await Task.sleep(for: .seconds(1))
            try await shipping.run { [self] in await writer.leaveLog() }
        }
    }

    private func maintainEveryMinute() async {
        var seen = -1
        for minute in 0... {
            guard (try? await Task.sleep(for: .seconds(60))) != nil else { return }
            // While nothing is shipped, only what becomes too old has to go.
            guard status.storedBytes != seen || minute % 60 == 0 else { continue }
            do {
                try await maintain()
                if await writer.hasPrepared { try await flush() }
                seen = status.storedBytes
            } catch {
                changes.update { $0.failure = error }
            }
        }
    }
}
