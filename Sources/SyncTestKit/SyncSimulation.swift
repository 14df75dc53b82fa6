public import Foundation
public import ObjectStores
public import SecureStorage
internal import SecureStoragePlatform
public import SecureSync

/// Several devices with an app's tables, which sync through one store, and a clock for all of them:
/// for the tests of an app.
///
/// Each device has an encrypted file of its own in a temporary directory, a key store in memory and
/// a real `SyncEngine`. A test takes them offline, restarts, copies and kills them, sets their
/// clocks wrong, and says when they sync; ``settle()`` syncs all of them until nothing changes, and
/// ``requireEqual(_:)`` compares their tables.
///
/// The clock stands still: it moves with ``advance(by:)``, and by a millisecond with each
/// transaction that writes, so that of two writes the later one is later. What decides between two
/// writes is therefore the same in each run. SQL's own `datetime('now')` is the machine's time.
///
/// Thread-safe. The files are removed with the last reference to the simulation and its devices.
public final class SyncSimulation: Sendable {
    /// What is synced.
    public let tables: SyncedTables
    /// What all devices see.
    public let store: any ObjectStore

    let clock: SimulatedClock
    let place: SimulatedPlace
    let openFile: @Sendable (URL) throws -> SecureDatabaseQueue
    private let state = Locked([Device]())

    /// Creates a simulation without devices, for an app that has a list of migrations.
    ///
    /// - Parameters:
    ///   - tables: What is synced.
    ///   - migrations: The app's schema.
    ///   - configuration: The settings of each device's database.
    ///   - store: What all devices see.
    ///   - start: The time at the beginning.
    public convenience init(
        tables: SyncedTables, migrations: SchemaMigrations,
        configuration: SecureDatabaseConfiguration = .init(),
        store: any ObjectStore = InMemoryObjectStore(), start: Date = SyncSimulation.defaultStart
    ) {
        self.init(tables: tables, configuration: configuration, store: store, start: start) {
            _ = try $0.migrate(migrations)
        }
    }

    /// Creates a simulation without devices, for an app that makes its schema itself.
    ///
    /// - Parameters:
    ///   - tables: What is synced.
    ///   - configuration: The settings of each device's database.
    ///   - store: What all devices see.
    ///   - start: The time at the beginning.
    ///   - prepare: Makes or updates the schema; is called whenever a device opens its file.
    public init(
        tables: SyncedTables, configuration: SecureDatabaseConfiguration = .init(),
        store: any ObjectStore = InMemoryObjectStore(), start: Date = SyncSimulation.defaultStart,
        prepare: @escaping @Sendable (any SecureDatabaseWriter) throws -> Void
    ) {
        self.tables = tables
        self.store = store
        let clock = SimulatedClock(start: Int64(start.timeIntervalSince1970 * 1000))
        self.clock = clock
        place = SimulatedPlace()
        let key = DatabaseKey.raw(SecretBytes.random(count: 32))
        var configuration = configuration
        let observer = configuration.statementObserver
        configuration.statementObserver = { report in
            // On the thread that writes, before its call returns. A statement outside of a
            // transaction is a commit too; one within writes no page, but for a shortage of memory.
            if report.pagesWritten > 0 { clock.tick() }
            observer?(report)
        }
        openFile = { [configuration] url in
            let queue = SecureDatabaseQueue(url: url, configuration: configuration)
            try queue.open(with: key)
            try prepare(queue)
            return queue
        }
    }

    /// Where the clock begins if nothing else is said: the first moment of 2026, in UTC.
    public static let defaultStart = Date(timeIntervalSince1970: 1_767_225_600)

    /// The devices in the order in which they were created.
    public var devices: [Device] { state.withLock { $0 } }

    // MARK: - Time

    /// The time of a clock that is right.
    public var now: Date { Date(timeIntervalSince1970: Double(clock.now) / 1000) }

    /// Moves the clocks of all devices.
    ///
    /// What was written before keeps its time, also if it was not sent yet.
    ///
    /// - Parameter duration: In whole milliseconds; may be negative.
    public func advance(by duration: Duration) { clock.advance(by: duration.milliseconds) }

    // MARK: - Devices

    /// Creates a device, and makes it a member: the first one founds the group, and each later one
    /// is invited by the first that is online.
    ///
    /// The group's rows arrive when it syncs.
    ///
    /// - Parameters:
    ///   - name: What other members see of it, and errors name it by; each device has another.
    ///   - clockError: How far its clock is off; positive if it is ahead.
    ///   - localRows: What becomes of rows that the app's schema begins with.
    /// - Returns: The device.
    /// - Throws: ``Failure/nameTaken(_:)``; the errors of the database and of the app's schema;
    ///   `SyncError`, also if no other device is online.
    @discardableResult
    public func device(
        _ name: String, clockError: Duration = .zero, localRows: SyncLocalRows = .keep
    ) async throws -> Device {
        try requireNew(name)
        let (host, isFirst) = state.withLock { devices in
            (devices.first { $0.isMember && !$0.isOffline }, devices.isEmpty)
        }
        let device = try Device(name, in: self, clockError: clockError)
        if isFirst {
            try await device.engine.createGroup(deviceName: name)
        } else {
            guard let host else {
                throw SyncError.tryAgain("no device is online that could invite")
            }
            let invitation = try await host.engine.invite(.once)
            try await device.engine.join(invitation, deviceName: name, localRows: localRows)
        }
        state.withLock { $0.append(device) }
        return device
    }

    /// Copies a device: its file as it is now, and its keys, as when a virtual machine is cloned.
    ///
    /// The two find it out when they sync: one of them continues as a member of its own. A device
    /// whose own file is put back to an older state is ``Device/restore(_:)``.
    ///
    /// - Parameters:
    ///   - device: One of this simulation.
    ///   - name: Another name, by which errors name the copy; members see the old one.
    /// - Returns: The copy.
    /// - Throws: ``Failure/nameTaken(_:)``; the errors of files and of the database.
    @discardableResult
    public func copy(_ device: Device, as name: String) throws -> Device {
        try requireNew(name)
        let copy = try Device(name, copyOf: device, in: self)
        state.withLock { $0.append(copy) }
        return copy
    }

    private func requireNew(_ name: String) throws {
        guard !devices.contains(where: { $0.name == name }) else { throw Failure.nameTaken(name) }
    }

    // MARK: - In the end

    /// Syncs all devices that are online, one after the other, until nothing changes any longer.
    ///
    /// A device that is killed has restarted and continues; one that is no longer a member is left
    /// out.
    ///
    /// - Throws: ``Failure/doesNotSettle`` after 100 rounds; what `SyncEngine.syncOnce` throws.
    public func settle() async throws {
        for _ in 0..<100 {
            var isQuiet = true
            for device in devices where !device.isOffline {
                do {
                    let report = try await device.syncOnce()
                    if report.sentBatches + report.appliedTransactions > 0
                        || report.hasWrittenSnapshot || report.hasLoadedSnapshot
                        || report.hasForked
                    {
                        isQuiet = false
                    }
                } catch Failure.killed(_) {
                    isQuiet = false
                } catch SyncError.notAMember {
                    continue
                }
            }
            if isQuiet { return }
        }
        throw Failure.doesNotSettle
    }
}
