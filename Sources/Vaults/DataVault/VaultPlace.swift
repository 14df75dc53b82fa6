internal import CPlatform
internal import Crypto
internal import Foundation
internal import SecureStorage

/// Where one vault lies: its entry in the key store, and the names of its files.
///
/// Names are hashes of the id: as long as any other, without a letter that a file system could take
/// for another one or for a path. Each vault that is made has a database of its own name, also
/// under the same id: a process that still has the old one open cannot touch the new one's log.
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
        hash = Self.hex(SHA256.hash(data: Data(id.utf8)))
    }

    /// What tells this vault from all others of the process; ids are equal when their bytes are.
    var identity: Data { Data(directory.utf8) + [0] + Data(id.utf8) }

    /// The lock of the record.
    var recordLock: VaultLock { lock("lock") }

    /// The lock of `DestructionTurn`.
    var turnLock: VaultLock { lock("end.lock") }

    private func lock(_ suffix: String) -> VaultLock {
        VaultLock(path: "\(directory)/\(hash).\(suffix)", access: access)
    }

    /// The database of the vault with this incarnation.
    func databasePath(_ incarnation: Data) -> String {
        "\(directory)/\(hash)-\(Self.hex(incarnation))\(Self.suffix)"
    }

    // MARK: - The key store's entry

    private static let idPrefix = "datavault.id."
    private static let hashPrefix = "datavault.hash."

    /// The name of the record.
    ///
    /// With the id in it where that fits, so that the ids can be listed beside a damaged record.
    var entryName: String {
        let name = Self.idPrefix + id
        return name.utf8.count <= SecretName.maximumLength ? name : Self.hashPrefix + hash
    }

    /// Whether a record of this id would have the name of an entry.
    static func isEntryName(_ name: String, of id: String) -> Bool {
        (try? VaultPlace(id: id, in: "", for: .owner))?.entryName.utf8.elementsEqual(name.utf8)
            ?? false
    }

    /// Whether an entry is the record of a vault, and whose, where its name tells.
    static func isEntryName(_ name: String) -> (isRecord: Bool, id: String?) {
        // Bytes, not characters: what follows the dot may combine with it.
        let prefix = Array(idPrefix.utf8)
        if name.utf8.starts(with: prefix) {
            return (true, String(decoding: name.utf8.dropFirst(prefix.count), as: UTF8.self))
        }
        return (name.utf8.starts(with: hashPrefix.utf8), nil)
    }

    // MARK: - Files

    /// Gives the database of a new vault its mode; who makes it leaves it to its owner.
    func setMode(ofDatabase incarnation: Data) throws {
        let path = databasePath(incarnation)
        guard access == .owner || access.setMode(ofFile: path) else {
            throw DataVaultError.ioWriteError(cause: Self.systemError(errno, path))
        }
    }

    /// Prepares a database of a group to be opened; under the lock under which all open it.
    ///
    /// SQLite gives its log and the log's index the mode of the database, a moment after it has
    /// made them with less where the umask says so. A kill in between leaves an empty file that
    /// only its owner could open: it is removed. Somebody who has the database open has an index
    /// that is not empty, and with it nothing is touched.
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
                        "\(KeyStoreError.quoted(path)) has not the mode 660; chmod it, and its side "
                        + "files, while nobody has it open"))
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

    /// The paths of all databases of this id and of their side files, a database before its own.
    private func databaseFiles() throws -> [String] {
        try DataVaultError.reading {
            try FileManager.default.contentsOfDirectory(atPath: directory)
        }
        .filter { $0.hasPrefix(hash + "-") }
        .sorted()
        .map { "\(directory)/\($0)" }
    }

    /// Whether there is a database of this id.
    func hasDatabase() throws -> Bool {
        try databaseFiles().contains { $0.hasSuffix(Self.suffix) }
    }

    /// Whether there is a database of any id in the same directory.
    func hasNeighbour() throws -> Bool {
        try DataVaultError.reading {
            try FileManager.default.contentsOfDirectory(atPath: directory)
        }
        .contains { $0.hasSuffix(Self.suffix) && !$0.hasPrefix(".") }
    }

    /// Removes every database of this id, whoever has it open.
    func removeDatabases() throws {
        for path in try databaseFiles() where unlink(path) != 0 && errno != ENOENT {
            throw DataVaultError.ioWriteError(cause: Self.systemError(errno, path))
        }
        syncDirectory()
    }

    /// Removes what a killed creation has left of its database.
    ///
    /// In a group as far as it can: what another member has left only that one can lock. It is an
    /// encrypted file whose key was never stored.
    func removeDraft(_ incarnation: Data) throws {
        let url = URL(fileURLWithPath: databasePath(incarnation))
        do {
            _ = try SecureDatabaseStore.remove(at: url)
        } catch {
            guard access == .group else { return try DataVaultError.writing { throw error } }
        }
    }

    private func syncDirectory() {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        // Some file systems cannot; then there is nothing to be done.
        _ = cplatform_sync(descriptor)
        close(descriptor)
    }

    static func systemError(_ code: Int32, _ path: String) -> NSError {
        NSError(domain: NSPOSIXErrorDomain, code: Int(code), userInfo: [NSFilePathErrorKey: path])
    }

    private static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
