public import Foundation
public import ObjectStores
public import SecureKeys
public import SecureStorage
internal import SecureStoragePlatform

/// Keeps tables equal on all members of a group: devices and servers that each write to their own
/// file, at any time and offline.
///
/// A member's changes reach the others as sealed and signed objects in a store that only sees
/// ciphertext. All members converge to the same rows: of two concurrent writes to one column, the
/// later one by the writers' clocks wins, and the other is listed in ``conflicts(in:)``.
///
/// Thread-safe. One engine per file; those of other processes, such as a command line beside an
/// app, take turns with it.
public final class SyncEngine: Sendable {
    let database: any SecureDatabaseWriter
    let capture: Capture
    let keyStore: any KeyStore
    let policy: SnapshotPolicy
    private let line = WorkLine()
    let changes = StatusChanges(SyncStatus())
    private let group = Locked<SyncGroup?>(nil)
    private let currentStore: Locked<TranslatingStore>
    /// Whether something was sent without notifying the others.
    let owesMark = SharedFlag()
    /// See ``completeReset()``.
    let hasCompleted = Locked(false)
    /// See ``rotateKey(every:)``.
    let rotation = Locked<Duration?>(.seconds(7 * 86_400))

    /// Creates an engine and, in one transaction, its schema in the file: triggers on the tables,
    /// which capture every program's writes, and tables named `securestorage_sync_…`.
    ///
    /// Nothing is sent before ``createGroup(deviceName:)`` or
    /// ``join(_:deviceName:localRows:)``. Call it after the app's migrations.
    ///
    /// - Parameters:
    ///   - database: An open queue or pool.
    ///   - tables: The synced tables. They must be the same on every member, except for tables and
    ///     columns that an older version of the app does not have yet.
    ///   - store: The store for the group's objects.
    ///   - keyStore: The store for this member's keys: on this device, and not in its backups.
    /// - Throws: ``SyncError/unsuitableTable(_:_:)``; the errors of the database.
    public convenience init(
        _ database: any SecureDatabaseWriter, tables: SyncedTables, store: any ObjectStore,
        keyStore: any KeyStore
    ) throws {
        try self.init(database, capture: Capture(tables), store: store, keyStore: keyStore)
    }

    package init(
        _ database: any SecureDatabaseWriter, capture: Capture, store: any ObjectStore,
        keyStore: any KeyStore, policy: SnapshotPolicy = SnapshotPolicy()
    ) throws {
        self.policy = policy
        (self.database, self.capture, self.keyStore) = (database, capture, keyStore)
        currentStore = Locked(SyncError.translating(store))
        try database.write { db in
            try capture.install(in: db)
            try SyncJournal(db).install()
            _ = try capture.takeUpLater(in: db)
        }
    }

    /// The store with the group's objects.
    var store: TranslatingStore { currentStore.withLock { $0 } }

    // MARK: - The group

    /// Whether this file belongs to a group.
    ///
    /// - Throws: The errors of the database.
    public var isMember: Bool {
        get throws { try database.read { try SyncJournal($0).place() != nil } }
    }

    /// Founds a group with this file's rows.
    ///
    /// - Parameter deviceName: This device's name, which other members see and the store does not.
    /// - Throws: ``SyncError/alreadyMember``; ``SyncError``; the errors of the key store and of the
    ///   database.
    public func createGroup(deviceName: String) async throws {
        try await inTurn { [self] in
            try await requireNoGroup()
            let group = try await SyncGroup.create(
                in: store, keyStore: keyStore, deviceName: deviceName)
            try await attach(group, keepsRows: false) { [capture] in
                try SnapshotLoading.listPending(capture, in: $0)
            }
            var report = SyncReport()
            try await beginLog(try await group.keys(), &report)
        }
    }

    /// Joins the group of an invitation.
    ///
    /// Its rows arrive with the next ``syncOnce()``.
    ///
    /// - Parameters:
    ///   - invitation: The result of ``invite(_:role:expires:forOlderSystems:)`` on another member.
    ///   - deviceName: This device's name, which other members see and the store does not.
    ///   - localRows: What to do with rows already in this file's tables.
    /// - Throws: ``SyncError/alreadyMember``, ``SyncError/invitationNotAccepted(_:)``;
    ///   ``SyncError/notAllowed(_:)`` if a reader would bring rows along; the errors of the key
    ///   store and of the database.
    public func join(
        _ invitation: SyncInvitation, deviceName: String, localRows: SyncLocalRows
    ) async throws {
        try await inTurn { [self] in
            try await requireNoGroup()
            let bringsRows = try await database.read { [capture] db in
                localRows == .keep ? try capture.hasRows(in: db) : false
            }
            let group = try await SyncGroup.join(
                invitation, in: store, keyStore: keyStore, deviceName: deviceName,
                bringsRows: bringsRows)
            try await attach(group, keepsRows: localRows == .keep) { [capture] db in
                switch localRows {
                case .keep:
                    try SnapshotLoading.listPending(capture, in: db)
                    try capture.listAllMerging(in: db)
                    try capture.removeAllClocks(in: db)
                    try capture.markAllRows(in: db)
                case .discard:
                    try capture.removeAllRows(in: db)
                    try capture.removeAllMerging(in: db)
                }
            }
            try await group.endJoining(with: invitation)
            // Anyone who sees the invitation later cannot read later writes. If the rotation fails,
            // the next member that writes rotates the key.
            try? await group.rotateIfNeeded()
            try await keepChain(of: group)
        }
    }

    /// A file may join another group, or the same one again, if it was removed, if the group was
    /// reset without it, or if its keys are missing or replaced.
    private func requireNoGroup() async throws {
        guard try isMember else { return }
        do {
            let group = try await currentGroup()
            try? await group.refresh()
            guard await group.isActive, try await !isMissingInSuccessor(of: group),
                try await !group.areKeysReplaced
            else { return }
        } catch KeyStoreError.notFound {
            return
        }
        throw SyncError.alreadyMember
    }

    private func attach(
        _ group: SyncGroup, keepsRows: Bool,
        _ prepare: @escaping @Sendable (SecureDatabaseStore) throws -> Void
    ) async throws {
        let (id, keys, chain) = (group.id, try await group.keys(), await group.entries)
        let devices = await group.state.devices.map(\.id)
        try await database.write { [capture] db in
            let journal = SyncJournal(db)
            if keys.isReader, keepsRows, try capture.hasRows(in: db) {
                throw SyncGroup.bringsNoRows
            }
            try prepare(db)
            try journal.leave()
            try capture.forgetStablePoint(in: db)
            try capture.setMember(keys.member, isReader: keys.isReader, in: db)
            try journal.setChain(chain)
            try journal.noteMembers(devices, own: keys.member)
            try journal.setPlace(.init(group: id, member: keys.member, keepsRows: keepsRows))
        }
        self.group.withLock { $0 = group }
    }

    /// Creates a code that lets another file join this group.
    ///
    /// - Parameters:
    ///   - kind: For one join, or for any number.
    ///   - role: The role of the devices that it adds. nil: writers for `.once`, admins for
    ///     `.recovery`.
    ///   - expires: When the code expires; at most 200 years from now. nil: after a week for
    ///     `.once`, never for `.recovery`.
    ///   - forOlderSystems: Whether devices whose system lacks ML-KEM, such as iOS 18 or macOS 15,
    ///     may use it. While the code or such a device is in the group, a quantum computer could
    ///     read recorded traffic: see ``SyncMember/isQuantumSafe``.
    /// - Returns: The invitation, as a code of letters and digits and as bytes; anyone who has it
    ///   can join and read everything.
    /// - Throws: ``SyncError/notAMember``; ``SyncError``.
    public func invite(
        _ kind: SyncInvitation.Kind, role: SyncMember.Role? = nil, expires: Date? = nil,
        forOlderSystems: Bool = false
    ) async throws -> SyncInvitation {
        let role = role ?? (kind == .once ? .writer : .admin)
        let end = expires ?? (kind == .once ? Date() + 7 * 86_400 : nil)
        let milliseconds = end.map { max(1, min($0.timeIntervalSince1970 * 1000, 1e13)) } ?? 0
        return try await inGroup {
            try await $0.invite(
                kind, role: role.inChain, expires: UInt64(milliseconds),
                forOlderSystems: forOlderSystems)
        }
    }

    /// Runs `work` after other work on this file by this and other engines.
    ///
    /// - Throws: ``SyncError/otherEngine`` if another engine works for more than a minute.
    func inTurn(_ work: @escaping @Sendable () async throws -> Void) async throws {
        try await line.run { [self] in
            let lock = try await EngineLock.take(
                beside: database.databaseURL, patience: .seconds(60))
            defer { withExtendedLifetime(lock) {} }
            try await forgetOldGroup()
            try await work()
        }
    }

    /// Another engine may have turned the file into another member, or moved it to another group.
    private func forgetOldGroup() async throws {
        guard let known = group.withLock({ $0 }) else { return }
        let (id, member) = (known.id, await known.member)
        let place = try await database.read { try SyncJournal($0).place() }
        if place?.group != id || place?.member != member { group.withLock { $0 = nil } }
    }

    /// Runs `work` in its turn, and saves the chain as read.
    func inGroup<T: Sendable>(
        _ work: @escaping @Sendable (SyncGroup) async throws -> T
    ) async throws -> T {
        let result = Locked<T?>(nil)
        try await inTurn { [self] in
            var group = try await currentGroup()
            while try await moveToFollowingGroup(after: group) { group = try await currentGroup() }
            let value = try await work(group)
            result.withLock { $0 = value }
            try await keepChain(of: group)
        }
        guard let value = result.withLock({ $0 }) else { throw CancellationError() }
        return value
    }

    /// The file's group, with the chain saved in the file.
    func currentGroup() async throws -> SyncGroup {
        if let group = group.withLock({ $0 }) { return group }
        let (place, chain) = try await database.read { db in
            (try SyncJournal(db).place(), try SyncJournal(db).chain())
        }
        guard let place else { throw SyncError.notAMember }
        let group = try SyncGroup(
            resuming: chain, as: place.member, in: store, keyStore: keyStore)
        self.group.withLock { $0 = group }
        return group
    }

    /// Continues with another group or store, as recorded in the file.
    func use(_ group: SyncGroup?, in store: any ObjectStore) {
        currentStore.withLock { $0 = SyncError.translating(store) }
        self.group.withLock { $0 = group }
    }

    /// Saves new chain entries in the file.
    ///
    /// - Returns: Whether there were any.
    @discardableResult
    func keepChain(of group: SyncGroup) async throws -> Bool {
        let (entries, own) = (await group.entries, await group.member)
        let devices = await group.state.devices.map(\.id)
        return try await database.write { db in
            let journal = SyncJournal(db)
            guard try journal.place() != nil else { return false }
            try journal.noteMembers(devices, own: own)
            return try journal.setChain(entries)
        }
    }
}
