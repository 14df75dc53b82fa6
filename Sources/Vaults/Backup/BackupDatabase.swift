internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The encrypted database of a backup while it is in a workspace.
struct BackupDatabase {
    let url: URL
    let key: DatabaseKey
    let configuration: SecureDatabaseConfiguration

    /// Creates a description of the database; `configuration` is the one it is otherwise opened
    /// with.
    init(
        _ workspace: BackupWorkspace, _ keys: BackupKeys,
        _ configuration: SecureDatabaseConfiguration
    ) {
        url = workspace.url("database")
        key = keys.databaseKey(configuration)
        self.configuration = configuration
    }

    /// Passes the database; `isLasting` if a copy of it is made that outlives the workspace.
    func withStore<R>(
        readOnly: Bool, isLasting: Bool = false, _ body: (SecureDatabaseStore) throws -> R
    ) throws -> R {
        var configuration = configuration
        configuration.isReadOnly = readOnly
        configuration.journalMode = .delete
        // Files of the workspace are discarded after a power cut.
        if !isLasting { configuration.synchronous = .normal }
        configuration.secondInstance = .allowed
        do {
            let store = SecureDatabaseStore(url: url, configuration: configuration)
            try store.open(with: key) { _ in nil }
            defer { store.close() }
            return try body(store)
        } catch let error as SecureStorageError
            where error.resultCode?.primary == .ioError && isDiskFull
        {
            // The engine reports a full disk as an I/O error when it concerns the index of a log.
            throw VaultBackupError.diskFull(path: url.path)
        }
    }

    /// Whether the disk has no room for a log and its index.
    private var isDiskFull: Bool {
        !DiskState.hasSpace(for: 128 << 10, inDirectory: url.deletingLastPathComponent().path)
    }

    /// Checks that the database is intact and is the one its backup describes.
    func check(_ metadata: VaultBackupMetadata, _ progress: FileProgress.Handler) throws {
        try VaultBackupError.asDamage {
            try withStore(readOnly: true) { store in
                let report = try store.verifyIntegrity {
                    try progress(FileProgress($0.completed, of: $0.total, step: .checking))
                }
                // Dangling foreign keys existed before the backup.
                guard report.damagedPages.isEmpty, report.structureProblems.isEmpty else {
                    throw VaultBackupError.damaged(reason: "its database is not intact")
                }
                let identity = VaultIdentity(
                    id: metadata.vaultID, generation: metadata.generation)
                guard try VaultIdentity.read(in: store) == identity else {
                    throw VaultBackupError.damaged(
                        reason: "it contains the database of another backup")
                }
            }
        }
    }
}
