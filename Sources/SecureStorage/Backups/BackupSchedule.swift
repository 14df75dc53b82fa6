public import Foundation
internal import SecureStoragePlatform

/// Copies a database into a folder again and again, and keeps the copies of some hours, days and
/// weeks.
///
/// ```swift
/// var settings = BackupSchedule.Settings()
/// settings.every = .seconds(15 * 60)
/// let schedule = try BackupSchedule(
///     of: pool, in: backupsURL, name: "notes", settings: settings,
///     onSuccess: { print("backup", $0.url.lastPathComponent) },
///     onFailure: { print("no backup:", $0) })
/// let running = Task { try await schedule.run() }
/// ```
///
/// Each copy is made as by ``SecureDatabaseStore/backup(to:key:replacing:progress:)``, with the key
/// of the database, while others write, and has a name such as `notes-20261124T151230.123Z.db`. It
/// gets that name when it is complete, checked and on the disk: after a kill there is nothing that
/// looks like a copy, and the next one removes the remains.
///
/// What is known about earlier copies is read from their names, so a service that is started again
/// continues as before. Other files of the folder are left alone. Several databases may share it,
/// each with its own name; schedules of the same name, also in several processes, take turns.
///
/// Thread-safe.
public final class BackupSchedule: Sendable {
    /// The folder of the copies.
    public let directory: URL

    private let database: any SecureDatabaseReader
    private let settings: Settings
    private let folder: BackupFolder
    private let onSuccess: @Sendable (Backup) -> Void
    private let onFailure: @Sendable (any Error) -> Void
    private let clock: @Sendable () -> Date

    /// Creates a schedule; nothing happens before ``run()`` or ``backUp()``.
    ///
    /// - Parameters:
    ///   - database: An open queue or pool.
    ///   - directory: The folder, which is created (mode 0700) if only that is missing. Best on
    ///     another disk than the database's.
    ///   - name: The beginning of the copies' names: 1 to 180 bytes without `/`, not beginning with
    ///     a dot. nil for the name of the database's file, without its extension.
    ///   - settings: How often, and what is kept.
    ///   - onSuccess: Called by ``run()`` with each copy.
    ///   - onFailure: Called by ``run()`` with each failure, such as a full disk or a folder that
    ///     cannot be written, before it tries again.
    /// - Throws: `.backingStoreError` code `.misuse` for a name or settings that cannot be used.
    public convenience init(
        of database: any SecureDatabaseReader, in directory: URL, name: String? = nil,
        settings: Settings = Settings(),
        onSuccess: @escaping @Sendable (Backup) -> Void = { _ in },
        onFailure: @escaping @Sendable (any Error) -> Void
    ) throws {
        try self.init(
            of: database, in: directory, name: name, settings: settings, onSuccess: onSuccess,
            onFailure: onFailure, clock: { Date() })
    }

    /// Creates a schedule with another clock.
    package init(
        of database: any SecureDatabaseReader, in directory: URL, name: String?,
        settings: Settings, onSuccess: @escaping @Sendable (Backup) -> Void,
        onFailure: @escaping @Sendable (any Error) -> Void,
        clock: @escaping @Sendable () -> Date
    ) throws {
        try settings.validate()
        let name = name ?? database.databaseURL.deletingPathExtension().lastPathComponent
        folder = BackupFolder(directory: directory, names: try BackupName(name))
        self.directory = directory
        self.database = database
        self.settings = settings
        self.onSuccess = onSuccess
        self.onFailure = onFailure
        self.clock = clock
    }

    /// The copies in the folder, newest first; none if the folder does not exist yet.
    ///
    /// - Returns: The copies that a schedule of this name has made, whatever their keys are.
    /// - Throws: `.backingStoreError` code `.cannotOpen` if the folder cannot be read.
    public func backups() throws -> [Backup] { try folder.backups() }

    /// Makes a copy now, and removes those that the settings do not keep.
    ///
    /// - Returns: The new copy.
    /// - Throws: As ``SecureDatabaseStore/backup(to:key:replacing:progress:)``;
    ///   `.backingStoreError` code `.busy` while another schedule of this name makes one;
    ///   `CancellationError`. Nothing is left of a copy that failed, and no other is removed.
    @discardableResult
    public func backUp() async throws -> Backup {
        // Here, so that no other thread keeps a reference to it.
        guard let lock = try folder.lock() else {
            throw SecureStorageError.statementFailed(
                .busy, "another schedule makes a backup of this name")
        }
        defer { withExtendedLifetime(lock) {} }
        let backup = try await copy()
        try await rotate()
        return backup
    }

    /// Makes copies when they are due, until the task is cancelled.
    ///
    /// The first one at once if the folder has none that is young enough. After a failure it tries
    /// again, after 1 second, then 2, and so on up to 10 minutes, or up to the time between two
    /// copies if that is less. While the queue or pool is suspended or closed, nothing is copied.
    ///
    /// - Throws: `CancellationError`, and nothing else.
    public func run() async throws {
        var pause = Duration.seconds(1)
        while true {
            do {
                if let wait = try await makeIfDue() {
                    // Not all at once, since the clock may be set in the meantime.
                    try await Task.sleep(for: min(wait, .seconds(30)))
                }
                pause = .seconds(1)
            } catch {
                try Task.checkCancellation()
                if let error = error as? SecureStorageError,
                    error.isSuspended || error == .closed
                {
                    // The app wants it so.
                    try await Task.sleep(for: .seconds(1))
                    continue
                }
                onFailure(error)
                try await Task.sleep(for: min(pause, settings.every))
                pause = min(pause * 2, .seconds(600))
            }
        }
    }

    /// Makes a copy if one is due.
    ///
    /// - Returns: How long to wait before looking again; nil after a copy.
    private func makeIfDue() async throws -> Duration? {
        if let wait = try waitingTime() { return wait }
        guard let lock = try folder.lock() else { return min(settings.every, .seconds(1)) }
        defer { withExtendedLifetime(lock) {} }
        // Another process may have made it until the lock was free.
        if let wait = try waitingTime() { return wait }
        let backup = try await copy()
        onSuccess(backup)
        do {
            try await rotate()
        } catch {
            // The copy is made, so this is tried again after the next one.
            try Task.checkCancellation()
            onFailure(error)
        }
        return nil
    }

    /// Returns the time until the next copy; nil if it is due.
    private func waitingTime() throws -> Duration? {
        let now = clock()
        let every = settings.every / .seconds(1)
        // One that is dated later was made while the clock was wrong.
        let last = try folder.backups().first { $0.date <= now + every }
        guard let last else { return nil }
        let wait = last.date.timeIntervalSince(now) + every
        // The caller looks again long before.
        return wait > 0 ? .seconds(min(wait, 3600)) : nil
    }

    /// Makes a copy; requires the lock.
    private func copy() async throws -> Backup {
        let isVerified = settings.verifies
        let date = clock()
        try await onOwnThread { [folder] in try folder.removeRemains() }
        return try await database.access.point.readBeside({ _ in }, isSure: { _ in true }) {
            [folder] store, progress in
            try store.backup(
                to: folder.unfinished, replacing: true, checking: isVerified, progress: progress)
            let backup = folder.freeName(at: date, isVerified: isVerified)
            try SecureDatabaseStore.move(at: folder.unfinished, to: backup.url)
            return backup
        }
    }

    /// Removes the copies that the settings do not keep; requires the lock.
    private func rotate() async throws {
        let rotation = BackupRotation(settings: settings)
        let now = clock()
        try await onOwnThread { [folder] in
            for backup in rotation.surplus(of: try folder.backups(), now: now) {
                try SecureDatabaseStore.remove(at: backup.url)
            }
        }
    }
}
