public import Foundation
internal import SecureStoragePlatform
internal import SecureStorage

/// The storage of vaults: a directory for their files, and a key store for their keys.
///
/// Ids belong to their container. A container's key store is used for nothing else. Programs that
/// share both share the vaults in them. Create one container per directory in a process: a vault
/// keeps the container that it came from.
///
/// The static calls of ``DataVault``, such as `DataVault.create(id:password:)`, use a separate
/// container.
///
/// Thread-safe.
public final class DataVaultContainer: Sendable {
    /// Absolute, with links resolved.
    let directory: String
    private let access: FileAccess
    let records: VaultRecords
    let clock: any IdleClock

    private struct State {
        var handler: DestructionHandler?
    }

    private let state = Locked(State())

    /// Destroys data that depended on a vault, such as a database whose key it held.
    public typealias DestructionHandler = @Sendable (DataVaultDestruction) throws -> Void

    /// Creates a container with its own key store.
    ///
    /// - Parameters:
    ///   - directory: Created with mode 0700, with its parents, if it does not exist; must belong
    ///     to this user and be writable by no one else, unless a group shares it.
    ///   - keyStore: nil for a ``/SecureKeys/FileKeyStore`` in the directory: the records are then
    ///     encrypted by a key stored beside them, and any number of passwords can be tried on a
    ///     copy of the directory.
    ///   - sharedWithGroup: Pass true for programs of several users: the directory must exist,
    ///     owned by root, with mode 2770 (`install -d -m 2770 -g GROUP`), below directories of root
    ///     that no user outside of the group can write to. Members of its group can
    ///     try passwords, delete vaults and copy the files, including the keys, which are then
    ///     stored beside the vaults. A key store that you pass must serve all of them.
    ///   - parameters: The cost of guessing a password; existing vaults keep theirs until they are
    ///     next unlocked.
    ///   - clock: For tests; the default keeps running while the machine sleeps.
    /// - Throws: `DataVaultError`: `.invalidArg` for an unusable directory, `.ioReadError`,
    ///   `.ioWriteError`.
    public convenience init(
        directory: URL, keyStore: (any KeyStore)? = nil, sharedWithGroup: Bool = false,
        parameters: ScryptParameters = .default, clock: any IdleClock = SystemIdleClock()
    ) throws {
        let access = FileAccess(sharedWithGroup: sharedWithGroup)
        try self.init(directory: directory, keyStore: keyStore, access: access, clock: clock) {
            PasswordKey($0, parameters: parameters)
        }
    }

    init(
        directory: URL, keyStore: (any KeyStore)?, access: FileAccess = .owner,
        clock: any IdleClock = SystemIdleClock(),
        date: @escaping @Sendable () -> Date = { Date() },
        moment: @escaping @Sendable () -> MachineMoment = { .now },
        makePasswordKey: @escaping @Sendable (SecretBytes) -> any KeyEncryptionKeySource
    ) throws {
        self.directory = try Self.prepare(directory, for: access)
        self.access = access
        self.clock = clock
        let path = self.directory
        records = VaultRecords(
            keyStore: try keyStore
                ?? DataVaultError.reading {
                    switch access {
                    case .owner: try FileKeyStore(directory: URL(fileURLWithPath: path + "/Keys"))
                    // Beside the vaults: a second directory would have to be created with the
                    // group's mode.
                    case .group:
                        try FileKeyStore(
                            directory: URL(fileURLWithPath: path), sharedWithGroup: true)
                    }
                },
            date: date, moment: moment, makePasswordKey: makePasswordKey)
    }

    func place(_ id: String) throws -> VaultPlace {
        try VaultPlace(id: id, in: directory, for: access)
    }

    /// The handler called after a vault's key was destroyed, and its file where possible.
    ///
    /// Default: nil. It is called for self-destructed and for deleted vaults, on the thread of the
    /// call that destroys the vault, and may create vaults there; other threads and processes that
    /// create one with the same id wait until it returns. An error it throws undoes nothing; it
    /// becomes the cause of the error that call throws. After such an error, after a kill, and for
    /// a vault destroyed without a handler, the next call about the same id that needs the vault
    /// calls the handler: it can be called twice. The container retains the handler, so the handler
    /// should refer to the container weakly.
    public var onDestruction: DestructionHandler? {
        get { state.withLock { $0.handler } }
        set { state.withLock { $0.handler = newValue } }
    }

    /// - Returns: The directory's path, with links resolved.
    private static func prepare(_ directory: URL, for access: FileAccess) throws -> String {
        guard directory.isFileURL, !directory.path.utf8.contains(0) else {
            throw DataVaultError.invalidArg(reason: "the directory is not a file URL")
        }
        if access == .owner {
            try DataVaultError.writing {
                try FileManager.default.createDirectory(
                    at: directory, withIntermediateDirectories: true,
                    attributes: [.posixPermissions: 0o700])
            }
        }
        guard let resolved = realpath(directory.path, nil) else {
            throw DataVaultError.ioReadError(cause: VaultPlace.systemError(errno, directory.path))
        }
        defer { free(resolved) }
        var status = stat()
        guard lstat(resolved, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw DataVaultError.invalidArg(reason: "the path is not a directory")
        }
        if let objection = access.objection(toDirectory: status, othersMayRead: true) {
            throw DataVaultError.invalidArg(reason: "the directory \(objection)")
        }
        let path = String(cString: resolved)
        if access == .group { try requireOwnedByRoot(above: path, group: status.st_gid) }
        return path
    }

    /// Throws if a user outside of the group could put another directory in the place of the
    /// group's.
    private static func requireOwnedByRoot(above path: String, group: gid_t) throws {
        var parent = URL(fileURLWithPath: path)
        while parent.path != "/" {
            parent.deleteLastPathComponent()
            var status = stat()
            guard lstat(parent.path, &status) == 0 else {
                throw DataVaultError.ioReadError(cause: VaultPlace.systemError(errno, parent.path))
            }
            // In a sticky directory, such as /tmp, only owners rename what is theirs.
            let isSticky = status.st_mode & S_ISVTX != 0
            let others: mode_t = status.st_gid == group ? 0o002 : 0o022
            guard status.st_uid == 0, isSticky || status.st_mode & others == 0 else {
                throw DataVaultError.invalidArg(
                    reason:
                        "the directory above, \(KeyStoreError.quoted(parent.path)), must belong to "
                        + "root and not be writable by others")
            }
        }
    }
}

/// A vault that no longer exists.
public struct DataVaultDestruction: Sendable, Equatable {
    /// The id that the vault had.
    public let id: String

    /// Whether too many wrong passwords destroyed the vault; false if it was deleted.
    public let isSelfDestructed: Bool
}

extension DataVaultContainer: CustomStringConvertible, CustomReflectable {
    /// The directory.
    public var description: String { "DataVaultContainer(\(KeyStoreError.quoted(directory)))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
