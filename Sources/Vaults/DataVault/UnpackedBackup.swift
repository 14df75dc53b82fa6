internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The contents of a data vault's backup, unpacked and checked.
struct UnpackedBackup {
    /// A new key for the vault: that of the one that was backed up does not open the new database.
    let key: DataEncryptionKey
    /// The policy of the vault when the backup was made.
    let policy: DataVaultPasswordPolicy

    /// The database under the vault's key, in the workspace.
    private let file: URL

    private static let policyTable = "datavault_policy"

    /// Unpacks a backup in a workspace, which lives as long as the contents are needed.
    ///
    /// - Throws: ``VaultBackupError``; `SecureStorageError`; errors of `progress`.
    init(
        _ backup: URL, unlockedBy source: any KeyEncryptionKeySource, in workspace: BackupWorkspace,
        _ progress: FileProgress.Handler
    ) throws {
        let opened = try OpenedBackup(at: backup)
        let keys = try opened.unlock(with: source)
        guard let former = keys.dataKeys.first(where: { $0.name == VaultValues.keyName }) else {
            throw Self.otherKind
        }
        let database = BackupDatabase(workspace, keys, SecureDatabaseConfiguration())
        try opened.extract(to: database.url, with: keys, progress)
        try database.check(opened.header.metadata, progress)
        policy = try database.withStore(readOnly: true) { store in
            guard try store.tableExists(Self.policyTable), try store.tableExists("value"),
                let text = try store.string(forQuery: "SELECT policy FROM \(Self.policyTable)")
            else { throw Self.otherKind }
            do {
                return try JSONDecoder().decode(
                    DataVaultPasswordPolicy.self, from: Data(text.utf8))
            } catch {
                throw VaultBackupError.damaged(reason: "its policy cannot be read")
            }
        }
        let key = try DataEncryptionKey.random(name: VaultValues.keyName)
        self.key = key
        let file = workspace.url("vault")
        self.file = file
        try database.withStore(readOnly: false, isLasting: true) { store in
            // Its app may have encrypted files with it.
            try VaultEncryptionKeys.keep(former, in: store)
            try store.backup(to: file, key: .raw(VaultValues.databaseKey(key)), replacing: false) {
                try progress(FileProgress($0.completed, of: $0.total, step: .copying))
            }
        }
    }

    /// Gives the database its place.
    func move(to path: String) throws {
        do {
            try AtomicFile.rename(file.path, to: path, replacing: false)
        } catch let error as SystemError {
            throw DataVaultError.ioWriteError(cause: VaultPlace.systemError(error.code, path))
        }
    }

    /// Stores the policy in the database of a vault that is being backed up.
    static func put(_ policy: DataVaultPasswordPolicy, in store: SecureDatabaseStore) throws {
        try store.executeUpdate(
            """
            CREATE TABLE IF NOT EXISTS \(policyTable) (
                one INTEGER PRIMARY KEY CHECK (one = 1), policy TEXT NOT NULL)
            """)
        try store.executeUpdate(
            "INSERT OR REPLACE INTO \(policyTable) VALUES (1, ?)",
            String(decoding: JSONEncoder().encode(policy), as: UTF8.self))
    }

    private static var otherKind: VaultBackupError {
        .unacceptableContents(
            reason: "it was not made with DataVault.makeBackup; use VaultBackup.restore")
    }
}
