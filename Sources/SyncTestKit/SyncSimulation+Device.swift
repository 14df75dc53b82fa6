internal import Foundation
internal import SecureKeys
public import SecureStorage
internal import SecureStoragePlatform
public import SecureSync

extension SyncSimulation {
    /// A device: its file, its keys, and its way to the store.
    ///
    /// Thread-safe. ``database`` and ``engine`` are other objects after a restart; end tasks that
    /// use them before.
    public final class Device: Sendable {
        /// By which errors name it.
        public let name: String

        private let tables: SyncedTables
        private let place: SimulatedPlace
        private let openFile: @Sendable (URL) throws -> SecureDatabaseQueue
        private let clock: SimulatedClock
        private let clockErrors: ClockError
        private let store: DeviceStore
        private let keyStore: InMemoryKeyStore
        private let state: Locked<State>

        private struct State {
            var url: URL
            var database: SecureDatabaseQueue
            var engine: SyncEngine
            /// Whether it was not yet told that it is no longer one.
            var isMember = true
        }

        init(_ name: String, in simulation: SyncSimulation, clockError: Duration) throws {
            self.name = name
            (tables, place, openFile) = (simulation.tables, simulation.place, simulation.openFile)
            clock = simulation.clock
            clockErrors = ClockError(clockError.milliseconds)
            store = DeviceStore(simulation.store)
            keyStore = InMemoryKeyStore()
            let url = try place.newFile()
            let (database, engine) = try Self.open(
                url, openFile, tables, clock, clockErrors, store, keyStore)
            state = Locked(State(url: url, database: database, engine: engine))
        }

        init(_ name: String, copyOf other: Device, in simulation: SyncSimulation) throws {
            self.name = name
            (tables, place, openFile) = (simulation.tables, simulation.place, simulation.openFile)
            clock = simulation.clock
            clockErrors = ClockError(other.clockErrors.now)
            store = DeviceStore(simulation.store)
            keyStore = other.keyStore
            let url = try other.copiedFile()
            let (database, engine) = try Self.open(
                url, openFile, tables, clock, clockErrors, store, keyStore)
            state = Locked(State(url: url, database: database, engine: engine))
        }

        private static func open(
            _ url: URL, _ openFile: (URL) throws -> SecureDatabaseQueue, _ tables: SyncedTables,
            _ clock: SimulatedClock, _ errors: ClockError, _ store: DeviceStore,
            _ keyStore: InMemoryKeyStore
        ) throws -> (SecureDatabaseQueue, SyncEngine) {
            let database = try openFile(url)
            let capture = Capture(tables) { machine in
                clock.time(at: machine).addingSaturated(errors.error(at: machine))
            }
            let engine = try SyncEngine(
                database, capture: capture, store: store, keyStore: keyStore)
            return (database, engine)
        }

        /// Its file.
        public var database: any SecureDatabaseWriter { state.withLock { $0.database } }

        /// What syncs it.
        public var engine: SyncEngine { state.withLock { $0.engine } }

        var isMember: Bool { state.withLock { $0.isMember } }

        // MARK: - Network and clock

        /// Whether all calls of the store fail, as without a network.
        public var isOffline: Bool {
            get { store.isOffline }
            set { store.isOffline = newValue }
        }

        /// How far its clock is off; positive if it is ahead.
        ///
        /// What was written before a change keeps its time.
        public var clockError: Duration {
            get { .milliseconds(clockErrors.now) }
            set { clockErrors.set(newValue.milliseconds) }
        }

        /// Syncs once, as `SyncEngine.syncOnce` does.
        ///
        /// - Returns: What was done.
        /// - Throws: ``SyncSimulation/Failure/killed(device:)``, after which the device has restarted;
        ///   what `SyncEngine.syncOnce` throws, such as a transient `SyncError.store` when it is
        ///   offline.
        @discardableResult
        public func syncOnce() async throws -> SyncReport {
            do {
                let report = try await engine.syncOnce()
                // A call whose failure does not matter to the engine.
                guard !store.isKilled else { throw DeviceStore.Killed() }
                state.withLock { $0.isMember = true }
                return report
            } catch SyncError.notAMember {
                state.withLock { $0.isMember = false }
                throw SyncError.notAMember
            } catch  where store.isKilled {
                try restart()
                throw Failure.killed(device: name)
            }
        }

        // MARK: - Its process

        /// Closes the file and opens it again, with a new engine.
        ///
        /// After a kill the file is taken as it was left.
        ///
        /// - Throws: The errors of files, of the database and of the app's schema.
        public func restart() throws {
            guard store.isKilled else { return try reopen(state.withLock { $0.url }) }
            let url = try copiedFile()
            try reopen(url)
        }

        /// Ends the device's process at a call of the store: that one fails, and all later ones,
        /// until the device has restarted.
        ///
        /// ``syncOnce()`` and ``SyncSimulation/settle()`` restart it by themselves; after another call
        /// of ``engine`` a test calls ``restart()``.
        ///
        /// - Parameters:
        ///   - number: Which call from now, from 1.
        ///   - hasEffect: Whether the store does what the call says, so that only the answer is
        ///     lost.
        public func killAtCall(_ number: Int, hasEffect: Bool = false) {
            store.killAtCall(number, hasEffect: hasEffect)
        }

        private func reopen(_ url: URL) throws {
            try state.withLock { state in
                state.database.close()
                store.revive()
                state.url = url
                (state.database, state.engine) = try Self.open(
                    url, openFile, tables, clock, clockErrors, store, keyStore)
            }
        }

        // MARK: - Its file

        /// Keeps a copy of the file as it is now.
        ///
        /// - Returns: The copy, which lasts as long as the simulation.
        /// - Throws: The errors of files and of the database.
        public func backup() throws -> Backup { Backup(url: try copiedFile(), place: place) }

        /// Puts the file back to an earlier state; the keys stay, since they are in no backup.
        ///
        /// - Parameter backup: One of this device.
        /// - Throws: The errors of files, of the database and of the app's schema.
        public func restore(_ backup: Backup) throws {
            try reopen(try place.copy(backup.url))
        }

        private func copiedFile() throws -> URL {
            let (database, url) = state.withLock { ($0.database, $0.url) }
            // In a turn of its own, so that nobody writes.
            return try database.write { [place] _ in try place.copy(url) }
        }
    }

    /// A device's file as it was once.
    public struct Backup: Sendable {
        let url: URL
        /// So that the file is there as long as this value.
        let place: SimulatedPlace
    }
}

/// A temporary directory with a simulation's files.
final class SimulatedPlace: Sendable {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("SyncTestKit-\(UUID().uuidString)", isDirectory: true)

    deinit { try? FileManager.default.removeItem(at: directory) }

    /// Returns a URL in a directory of its own, where no file is.
    func newFile() throws -> URL {
        let folder = directory.appendingPathComponent(UUID().uuidString, isDirectory: true)
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700])
        return folder.appendingPathComponent("device.db")
    }

    /// Copies a database and its log, as a kill would leave them.
    func copy(_ url: URL) throws -> URL {
        let copy = try newFile()
        let (from, to) = (url.deletingLastPathComponent(), copy.deletingLastPathComponent())
        for name in try FileManager.default.contentsOfDirectory(atPath: from.path)
        where !name.hasSuffix("-shm") {
            try FileManager.default.copyItem(
                at: from.appendingPathComponent(name), to: to.appendingPathComponent(name))
        }
        return copy
    }
}
