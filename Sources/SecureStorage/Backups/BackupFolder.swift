internal import Foundation
internal import SecureStoragePlatform

/// The copies of one schedule in its folder, and nothing else that is there.
struct BackupFolder: Sendable {
    let directory: URL
    let names: BackupName

    /// The copies, newest first; none if the folder does not exist.
    ///
    /// - Throws: `.backingStoreError` code `.cannotOpen` if the folder cannot be read.
    func backups() throws -> [BackupSchedule.Backup] {
        try fileNames().compactMap { name in
            guard let (milliseconds, isVerified) = names.read(name) else { return nil }
            let url = directory.appendingPathComponent(name, isDirectory: false)
            var status = stat()
            // Only a database file can be one of its own, whatever its name.
            guard lstat(url.path, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
                status.st_size > 1
            else { return nil }
            return BackupSchedule.Backup(
                url: url, date: Date(timeIntervalSince1970: Double(milliseconds) / 1000),
                isVerified: isVerified)
        }
        .sorted { $0.date > $1.date }
    }

    /// Where a copy is written before it gets its name.
    var unfinished: URL { directory.appendingPathComponent(names.unfinished, isDirectory: false) }

    /// Returns the first free name from a time on.
    func freeName(at date: Date, isVerified: Bool) -> BackupSchedule.Backup {
        var milliseconds = BackupName.milliseconds(of: date)
        while true {
            let url = directory.appendingPathComponent(
                names.file(at: milliseconds, isVerified: isVerified), isDirectory: false)
            var status = stat()
            if lstat(url.path, &status) != 0 {
                return BackupSchedule.Backup(
                    url: url, date: Date(timeIntervalSince1970: Double(milliseconds) / 1000),
                    isVerified: isVerified)
            }
            milliseconds += 1
        }
    }

    /// Takes the lock of the names, and creates the folder if only that is missing.
    ///
    /// - Returns: nil if another schedule has it.
    /// - Throws: `.backingStoreError` code `.cannotOpen`.
    func lock() throws -> LockFile? {
        let file = try SecureDatabaseStore.newFile(at: unfinished)
        try file.requireWritableDirectory()
        let path = directory.appendingPathComponent(names.lock, isDirectory: false).path
        do {
            return try LockFile.take(path, patience: .zero) {
                try Descriptor(path, O_RDWR | O_CREAT | O_NOFOLLOW)
            }
        } catch let error as SystemError {
            throw file.failure("the schedule's lock: \(error.reason)")
        }
    }

    /// Removes what killed backups have left; requires the lock.
    func removeRemains() throws {
        try SecureDatabaseStore.remove(at: unfinished)
        // The salt of a copy that did not get its name.
        for name in try fileNames() where name.hasSuffix(SaltFile.suffix) {
            let file = String(name.dropLast(SaltFile.suffix.count))
            let url = directory.appendingPathComponent(file, isDirectory: false)
            guard names.read(file) != nil, access(url.path, F_OK) != 0 else { continue }
            try SecureDatabaseStore.remove(at: url)
        }
        for name in try fileNames() where DatabaseFile.isCreationLock(name) {
            removeAbandonedLock(directory.appendingPathComponent(name, isDirectory: false).path)
        }
    }

    /// Removes the lock of a copy's move or removal that was killed: nobody may know its name any
    /// longer.
    private func removeAbandonedLock(_ path: String) {
        // One that cannot be taken is in use, or another user's.
        let lock = try? LockFile.take(path, patience: .zero) {
            try Descriptor(path, O_RDWR | O_NOFOLLOW)
        }
        guard let lock, (try? lock.descriptor.status().st_size) == 0 else { return }
        withExtendedLifetime(lock) { _ = unlink(path) }
    }

    private func fileNames() throws -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: directory.path)
        } catch CocoaError.fileReadNoSuchFile, CocoaError.fileNoSuchFile {
            return []
        } catch {
            throw SecureStorageError.statementFailed(
                .cannotOpen,
                "cannot read the folder of backups \"\(directory.path)\": \(error.localizedDescription)"
            )
        }
    }
}
