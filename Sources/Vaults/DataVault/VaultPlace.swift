internal import Crypto
internal import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The place of one vault: its entry in the key store, and the names of its files.
///
/// File names are hashes of the id: all of the same length, without a letter that a file system
/// could confuse with another or read as a path. Each vault that is created has a database with a
/// separate name, even under the same id: a process that still has the old one open cannot touch
/// the new one's log.
struct VaultPlace: Sendable {
    let id: String
    private let directory: String
    private let access: FileAccess
    private let hash: String

    private static let suffix = ".vault"

    /// - Throws: `DataVaultError`: `.invalidArg` for an empty id, `.nameTooLong`.
    init(id: String, in directory: String, for access: FileAccess) throws {
        guard !id.isEmpty else { throw DataVaultError.invalidArg(reason: "the id is empty") }
        guard id.utf8.count <= DataVault.nameLengthLimit else { throw DataVaultError.nameTooLong }
        self.id = id
        self.directory = directory
        self.access = access
        hash = Hex.text(SHA256.hash(data: Data(id.utf8)))
    }

    /// The identity of this vault within the process; ids are equal if their bytes are.
    var identity: Data { Data(directory.utf8) + [0] + Data(id.utf8) }

    /// The lock of the record.
    var recordLock: ProcessLock { lock("lock") }

    /// The lock of `DestructionTurn`.
    var turnLock: ProcessLock { lock("end.lock") }

    private func lock(_ suffix: String) -> ProcessLock {
        ProcessLock(path: "\(directory)/\(hash).\(suffix)", access: access)
    }

    /// Returns the path of the database of the vault with this incarnation.
    func databasePath(_ incarnation: Data) -> String {
        "\(directory)/\(hash)-\(Hex.text(incarnation))\(Self.suffix)"
    }

    /// The file beside which a backup is unpacked: it never exists, and has the same name for each
    /// restore of the vault, so that the next one removes what a killed one has left.
    var restoring: URL { URL(fileURLWithPath: "\(directory)/\(hash).restoring") }

    // MARK: - The key store's entry

    private static let idPrefix = "datavault.id."
    private static let hashPrefix = "datavault.hash."

    /// The name of the record.
    ///
    /// It contains the id if that fits, so the ids can be listed even with a damaged record
    /// present.
    var entryName: String {
        let name = Self.idPrefix + id
        return name.utf8.count <= SecretName.maximumLength ? name : Self.hashPrefix + hash
    }

    /// Returns whether a record of this id would have the name of an entry.
    static func isEntryName(_ name: String, of id: String) -> Bool {
        (try? VaultPlace(id: id, in: "", for: .owner))?.entryName.utf8.elementsEqual(name.utf8)
            ?? false
    }

    /// Returns whether an entry is the record of a vault, and the vault's id if the name contains
    /// it.
    static func isEntryName(_ name: String) -> (isRecord: Bool, id: String?) {
        // Bytes, not characters: the character after the dot may combine with it.
        let prefix = Array(idPrefix.utf8)
        if name.utf8.starts(with: prefix) {
            return (true, String(decoding: name.utf8.dropFirst(prefix.count), as: UTF8.self))
        }
        return (name.utf8.starts(with: hashPrefix.utf8), nil)
    }

    // MARK: - Files

    /// Sets the mode of a new vault's database, which is created with its owner's mode.
    func setMode(ofDatabase incarnation: Data) throws {
        let path = databasePath(incarnation)
        guard access != .owner else { return }
        do {
            try access.setMode(ofFile: path)
        } catch let error as SystemError {
            throw DataVaultError.ioWriteError(cause: Self.systemError(error.code, path))
        }
    }

    /// Prepares a group's database for opening; under the lock under which every process opens it.
    ///
    /// SQLite creates its log and the log's index with fewer permissions if the umask says so, and
    /// gives them the mode of the database a moment later. A kill in between leaves an empty file
    /// that only its owner could open: this removes it. If another process has the database open,
    /// its index is not empty, and nothing is touched.
    ///
    /// - Throws: `DataVaultError.ioReadError` for a database with another mode, which its log would
    ///   have, too.
    func prepareToOpen(_ incarnation: Data) throws {
        guard access == .group else { return }
        let path = databasePath(incarnation)
        if let database = VaultFile.status(path), database.st_mode & 0o7777 != access.fileMode {
            throw DataVaultError.ioReadError(
                cause: KeyStoreError.refused(
                    reason:
                        "\(KeyStoreError.quoted(path)) does not have mode 660; chmod it and its side "
                        + "files while no process has it open"))
        }
        guard (VaultFile.status(path + "-shm")?.st_size ?? 0) == 0 else { return }
        for file in [path + "-wal", path + "-shm"] {
            if let status = VaultFile.status(file), status.st_size == 0,
                status.st_mode & 0o777 != access.fileMode
            {
                unlink(file)
            }
        }
    }

    /// Returns the paths of all databases of this id and of their sidecar files, each database
    /// before its sidecar files.
    private func databaseFiles() throws -> [String] {
        try DataVaultError.reading {
            try FileManager.default.contentsOfDirectory(atPath: directory)
        }
        .filter { $0.hasPrefix(hash + "-") }
        .sorted()
        .map { "\(directory)/\($0)" }
    }

    /// Returns whether a database of this id exists.
    func hasDatabase() throws -> Bool {
        try databaseFiles().contains { $0.hasSuffix(Self.suffix) }
    }

    /// Returns whether a database of any id exists in the same directory.
    func hasNeighbour() throws -> Bool {
        try DataVaultError.reading {
            try FileManager.default.contentsOfDirectory(atPath: directory)
        }
        .contains { $0.hasSuffix(Self.suffix) && !$0.hasPrefix(".") }
    }

    /// Removes every database of this id, even if it is open.
    func removeDatabases() throws {
        for path in try databaseFiles() where unlink(path) != 0 && errno != ENOENT {
            throw DataVaultError.ioWriteError(cause: Self.systemError(errno, path))
        }
        AtomicFile.syncDirectory(directory)
    }

    /// Removes what a killed creation has left of its database.
    ///
    /// Best effort in a group: only the member that left the file can lock it. It is an encrypted
    /// file whose key was never stored.
    func removeDraft(_ incarnation: Data) throws {
        let url = URL(fileURLWithPath: databasePath(incarnation))
        do {
            _ = try SecureDatabaseStore.remove(at: url)
        } catch {
            guard access == .group else { return try DataVaultError.writing { throw error } }
        }
    }

    static func systemError(_ code: Int32, _ path: String) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [NSFilePathErrorKey: path])
    }
}
