public import Foundation
internal import SecureStorage

/// A place where vaults lie: a directory for their files, and a key store for their keys.
///
/// Ids belong to their container. A container's key store is used for nothing else. Programs that
/// share both share the vaults in them. Make one container for a directory in a process: a vault
/// keeps the one that it came from.
///
/// The calls of ``DataVault`` itself, such as `DataVault.create(id:password:)`, go to a container
/// of their own.
///
/// Thread-safe.
public final class DataVaultContainer: @unchecked Sendable {
    // @unchecked: `handler` is only touched under `lock`.
    /// Absolute, without links.
    let directory: String
    private let access: FileAccess
    let records: VaultRecords
    let clock: any IdleClock
    /// The machine's date, for the age of passwords.
    let date: @Sendable () -> Date
    /// What a password becomes; for tests of everything but guessing.
    let makePasswordKey: @Sendable (SecretBytes) -> any KeyEncryptionKeySource

    private let lock = NSLock()
    private var handler: DestructionHandler?

    /// Destroys what depended on a vault, such as a database whose key it held.
    public typealias DestructionHandler = @Sendable (DataVaultDestruction) throws -> Void

    /// A container with keys in a key store of its own.
    ///
    /// - Parameters:
    ///   - directory: Is made with mode 0700 when it does not exist, with its parents; belongs to
    ///     this user, and nobody else may write it, unless a group shares it.
    ///   - keyStore: nil stands for a ``FileKeyStore`` in the directory: the records are encrypted
    ///     then by a key that lies beside them, and a copy of the directory can be tried with any
    ///     number of passwords.
    ///   - sharedWithGroup: Pass true for programs of several users: the directory exists, root's,
    ///     with mode 2770 (`install -d -m 2770 -g GROUP`), and its group's members can try
    ///     passwords, delete vaults and copy the files, keys too, which lie beside the vaults then.
    ///     A key store of your own has to serve all of them.
    ///   - parameters: What guessing a password costs; vaults that exist keep theirs until they are
    ///     unlocked the next time.
    ///   - clock: For tests; the default goes on while the machine sleeps.
    /// - Throws: `DataVaultError`: `.invalidArg` for a directory that cannot be used,
    ///   `.ioReadError`, `.ioWriteError`.
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
        makePasswordKey: @escaping @Sendable (SecretBytes) -> any KeyEncryptionKeySource
    ) throws {
        self.directory = try Self.prepare(directory, for: access)
        self.access = access
        self.clock = clock
        self.date = date
        self.makePasswordKey = makePasswordKey
        let path = self.directory
        records = VaultRecords(
            keyStore: try keyStore
                ?? DataVaultError.reading {
                    switch access {
                    case .owner: try FileKeyStore(directory: URL(fileURLWithPath: path + "/Keys"))
                    // Beside the vaults: a second directory would have to be made with the group's
                    // mode.
                    case .group:
                        try FileKeyStore(
                            directory: URL(fileURLWithPath: path), sharedWithGroup: true)
                    }
                })
    }

    func place(_ id: String) throws -> VaultPlace {
        try VaultPlace(id: id, in: directory, for: access)
    }

    /// Is called after the key of a vault is gone, and its file where that could be removed.
    ///
    /// Default: nil. For vaults that have destroyed themselves and for those that were deleted. It
    /// is called on the thread of the call that destroys the vault, and may make vaults there;
    /// other threads and processes that make one of the same id wait for its end. What it throws
    /// undoes nothing, and becomes the cause of what that call throws. After that, after a kill,
    /// and for a vault that was destroyed without a handler, the next call about the same id that
    /// needs the vault calls it: it can be called twice. The container keeps it; let it refer to
    /// the container weakly.
    public var onDestruction: DestructionHandler? {
        get { lock.withLock { handler } }
        set { lock.withLock { handler = newValue } }
    }

    /// - Returns: The directory's path without links.
    private static func prepare(_ directory: URL, for access: FileAccess) throws -> String {
        guard directory.isFileURL, !directory.path.utf8.contains(0) else {
            throw DataVaultError.invalidArg(reason: "the directory is no file URL")
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
            throw DataVaultError.invalidArg(reason: "the directory is no directory")
        }
        if let objection = access.objection(toDirectory: status, othersMayRead: true) {
            throw DataVaultError.invalidArg(reason: "the directory \(objection)")
        }
        return String(cString: resolved)
    }
}

/// A vault that is no more.
public struct DataVaultDestruction: Sendable, Equatable {
    /// The id that it had.
    public let id: String

    /// Whether too many wrong passwords have destroyed it; false for one that was deleted.
    public let isSelfDestructed: Bool
}

extension DataVaultContainer: CustomStringConvertible, CustomReflectable {
    /// The directory.
    public var description: String { "DataVaultContainer(\(KeyStoreError.quoted(directory)))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
