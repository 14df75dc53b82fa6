public import Foundation
public import SecureStorage

/// Secrets in files, one each, that nobody but their owner can read, or the members of one group.
///
/// The files are not encrypted: who reads them, as the same user, as root, or in a backup, has the
/// secrets. For servers whose disk is trusted, and for keys that are wrapped already.
///
/// The directory has mode 0700 and its files 0600; where a group shares them, 2770 and 0660.
/// Anything else than this store makes is refused, not followed and not repaired: a link, a hard
/// link, looser modes, another owner or group. A file is written beside its place, synced and
/// renamed; a kill or a power cut leaves the old secret or the new one. Damage is found by a
/// checksum. The blocks of a removed secret are not overwritten.
///
/// Thread-safe; processes exclude each other with `flock` on the directory, which a file system has
/// to support. After 10 seconds of waiting a call throws ``KeyStoreError/unavailable(reason:)``.
public struct FileKeyStore: KeyStore {
    private let path: String
    private let access: FileAccess

    /// The store in a directory, which is made when it does not exist.
    ///
    /// - Parameters:
    ///   - directory: Its parent exists. It is used for one store only, and is no symbolic link.
    ///   - creatingDirectory: Pass false where secrets have been stored before: then a directory
    ///     that is missing, such as one on a volume that is not mounted, is no empty store.
    ///   - sharedWithGroup: Pass true for programs of several users: the directory exists, root's,
    ///     with mode 2770 (`install -d -m 2770 -g GROUP`), and its group's members can read and
    ///     replace every secret.
    /// - Throws: `KeyStoreError.refused` when others can read or change the directory,
    ///   `.unavailable` when it is not there and may not or cannot be made.
    public init(
        directory: URL, creatingDirectory: Bool = true, sharedWithGroup: Bool = false
    ) throws {
        guard directory.isFileURL else {
            throw KeyStoreError.refused(reason: "the directory is no file URL")
        }
        var path = directory.standardizedFileURL.path
        // With a slash at the end a link would be followed.
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // C would end the path there.
        guard !path.utf8.contains(0) else {
            throw KeyStoreError.refused(reason: "the path of the directory has a NUL in it")
        }
        self.path = path
        access = FileAccess(sharedWithGroup: sharedWithGroup)
        if creatingDirectory, access == .owner { try KeyDirectory.create(path) }
        _ = try KeyDirectory(path, for: access, isLocked: false)
    }

    /// Stores a secret, and replaces what the name held.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`; when the disk fails at the end, either secret can be there.
    public func store(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { _ in }
    }

    /// Stores a secret under a name that has none yet, also among processes.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists` when there is a file, also a damaged one.
    public func insert(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { exists in
            guard !exists else { throw KeyStoreError.alreadyExists(name: name) }
        }
    }

    /// Reads a secret; waits for nobody.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes as they were stored.
    /// - Throws: `KeyStoreError.notFound`, `.damaged` for a file that is not as it was written, and
    ///   `.refused` for one that this store would not have made.
    public func read(_ name: String) throws -> SecretBytes {
        let key = try SecretName(name)
        let directory = try KeyDirectory(path, for: access, isLocked: false)
        // One byte more than any file of ours has, so that a longer one is noticed.
        guard
            let file = try directory.read(
                KeyFile.fileName(of: key), maximum: KeyFile.maximumSize + 1)
        else { throw KeyStoreError.notFound(name: name) }
        do {
            return try KeyFile.secret(of: key, file.bytes)
        } catch {
            throw KeyStoreError.damaged(name: name, reason: error.reason)
        }
    }

    /// Removes a secret's file, also one that cannot be read or that is refused.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether there was one.
    /// - Throws: `KeyStoreError` when it cannot be removed.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        let fileName = KeyFile.fileName(of: try SecretName(name))
        let directory = try KeyDirectory(path, for: access, isLocked: true)
        try directory.removeDrafts()
        return try directory.remove(fileName)
    }

    /// The names that hold a secret.
    ///
    /// - Returns: Sorted by their bytes.
    /// - Throws: `KeyStoreError.damaged`, with the file's name, for one whose name inside cannot be
    ///   read.
    public func names() throws -> [String] {
        let directory = try KeyDirectory(path, for: access, isLocked: false)
        var names: [SecretName] = []
        for fileName in try directory.fileNames() where KeyFile.isFileName(fileName) {
            // Removed since it was listed.
            guard let file = try directory.read(fileName, maximum: KeyFile.nameRange) else {
                continue
            }
            do throws(KeyFile.Damage) {
                names.append(
                    try file.bytes.withUnsafeBytes { bytes in
                        Result { () throws(KeyFile.Damage) in
                            try KeyFile.name(inFile: fileName, bytes)
                        }
                    }.get())
            } catch {
                throw KeyStoreError.damaged(name: fileName, reason: error.reason)
            }
        }
        return names.sorted().map(\.text)
    }

    private func write(
        _ secret: SecretBytes, _ name: String, unless check: (_ exists: Bool) throws -> Void
    ) throws {
        let key = try SecretName(name)
        try SecretName.check(secret)
        let fileName = KeyFile.fileName(of: key)
        let directory = try KeyDirectory(path, for: access, isLocked: true)
        try check(try directory.contains(fileName))
        try directory.removeDrafts()
        try directory.write(KeyFile.contents(key, secret), as: fileName)
    }
}
