public import Foundation

/// Secrets in one file each, readable only by their owner or by the members of one group.
///
/// The files are not encrypted unless the store has a key: anyone who can read them, as the same
/// user, as root or in a backup, has the secrets. Use such a store on servers whose disk is
/// trusted, and for keys that are already wrapped. With a key that comes from elsewhere, such as a
/// credential of systemd (``SystemdCredentials``), each secret is sealed for its name; the names
/// stay readable, and an older file of the same name opens.
///
/// The directory has mode 0700 and its files 0600; with group sharing, 2770 and 0660. The store
/// refuses, and neither follows nor repairs, anything that it would not have created: a symbolic
/// link, a hard link, looser modes, another owner or group. It writes a new file in the same
/// directory, syncs it and renames it; a kill or a power failure leaves the old secret or the new
/// one. A checksum detects damage. The blocks of a removed secret are not overwritten.
///
/// Thread-safe. Processes exclude each other with `flock` on the directory, which the file system
/// must support. A call that waits longer than 10 seconds throws
/// ``KeyStoreError/unavailable(reason:)``.
public struct FileKeyStore: KeyStore {
    private let path: String
    private let access: FileAccess
    private let key: DataEncryptionKey?

    /// Opens the store in a directory, and creates the directory if it does not exist.
    ///
    /// - Parameters:
    ///   - directory: A directory used for this store only, not a symbolic link. Its parent must
    ///     exist.
    ///   - creatingDirectory: Pass false if secrets have been stored before, so that a missing
    ///     directory, such as one on a volume that is not mounted, is not mistaken for an empty
    ///     store.
    ///   - sharedWithGroup: Pass true for programs of several users. The directory must exist,
    ///     owned by root, with mode 2770 (`install -d -m 2770 -g GROUP`); every member of its group
    ///     can read and replace every secret.
    ///   - key: Seals the secrets: a key that is not stored on the same disk. A store with a key
    ///     refuses secrets that are not sealed, and one without refuses sealed ones.
    /// - Throws: `KeyStoreError.refused` when others can read or change the directory or when
    ///   permissions prevent its use, `.unavailable` when it does not exist and is not created.
    public init(
        directory: URL, creatingDirectory: Bool = true, sharedWithGroup: Bool = false,
        sealedWith key: DataEncryptionKey? = nil
    ) throws {
        guard directory.isFileURL else {
            throw KeyStoreError.refused(reason: "the directory is not a file URL")
        }
        var path = directory.standardizedFileURL.path
        // With a trailing slash, a link would be followed.
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        // C would truncate the path there.
        guard !path.utf8.contains(0) else {
            throw KeyStoreError.refused(reason: "the path of the directory contains a NUL")
        }
        self.path = path
        access = FileAccess(sharedWithGroup: sharedWithGroup)
        self.key = key
        if creatingDirectory, access == .owner { try KeyDirectory.create(path) }
        _ = try KeyDirectory(path, for: access, isLocked: false)
    }

    /// Stores a secret and replaces any existing one of that name.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`; if the disk fails at the end, the store may hold either secret.
    public func store(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { _ in }
    }

    /// Stores a secret under a name that has none yet; atomic across processes.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists` when a file exists, even a damaged one.
    public func insert(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { exists in
            guard !exists else { throw KeyStoreError.alreadyExists(name: name) }
        }
    }

    /// Reads a secret without waiting for a lock.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes as they were stored.
    /// - Throws: `KeyStoreError.notFound`, `.damaged` for a file that is not as it was written, or
    ///   sealed with another key, and `.refused` for one that this store would not have created.
    public func read(_ name: String) throws -> SecretBytes {
        let secretName = try SecretName(name)
        let directory = try KeyDirectory(path, for: access, isLocked: false)
        // One byte more than the largest valid file, to detect a longer one.
        guard
            let file = try directory.read(
                KeyFile.fileName(of: secretName), maximum: KeyFile.maximumSize + 1)
        else { throw KeyStoreError.notFound(name: name) }
        let place = KeyStoreError.quoted("\(path)/\(KeyFile.fileName(of: secretName))")
        let secret: (bytes: SecretBytes, isSealed: Bool)
        do {
            secret = try KeyFile.secret(of: secretName, file.bytes)
        } catch {
            throw KeyStoreError.damaged(name: name, reason: "\(error.reason): \(place)")
        }
        guard secret.isSealed == (key != nil) else {
            throw KeyStoreError.refused(
                reason: secret.isSealed
                    ? "\(place) is sealed; open the store with its key"
                    : "\(place) is not sealed; read it with a store without a key, and store it "
                        + "in one with the key, in another directory")
        }
        guard let key else { return secret.bytes }
        do {
            return try KeyFile.open(secret.bytes, of: secretName, with: key)
        } catch EnvelopeError.cleared {
            throw KeyStoreError.unavailable(reason: "the key of the key store was cleared")
        } catch {
            throw KeyStoreError.damaged(
                name: name, reason: "it was changed, or sealed with another key: \(place)")
        }
    }

    /// Removes a secret's file, even one that is unreadable or refused.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether a file existed.
    /// - Throws: `KeyStoreError` when it cannot be removed.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        let fileName = KeyFile.fileName(of: try SecretName(name))
        let directory = try KeyDirectory(path, for: access, isLocked: true)
        try directory.removeDrafts()
        return try directory.remove(fileName)
    }

    /// Returns the names that hold a secret.
    ///
    /// - Returns: The names, sorted by their bytes.
    /// - Throws: `KeyStoreError.damaged`, with the file's name, when the secret's name in a file
    ///   cannot be read.
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
        let secretName = try SecretName(name)
        try SecretName.check(secret)
        let fileName = KeyFile.fileName(of: secretName)
        let directory = try KeyDirectory(path, for: access, isLocked: true)
        try check(try directory.contains(fileName))
        try directory.removeDrafts()
        let contents: SecretBytes
        do {
            contents = try KeyFile.contents(secretName, secret, sealedWith: key)
        } catch EnvelopeError.cleared {
            throw KeyStoreError.unavailable(reason: "the key of the key store was cleared")
        }
        try directory.write(contents, as: fileName)
    }
}
