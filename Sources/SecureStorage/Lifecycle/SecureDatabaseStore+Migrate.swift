public import Foundation

extension SecureDatabaseStore {
    /// Brings a file of SQLCipher 1, 2 or 3, of another cipher configuration or without HMACs into
    /// the format of `cipher`.
    ///
    /// The content is copied into a new file, whose rows are counted and whose pages and structures
    /// are checked; then the new file takes the old one's name, at once. The old file is kept
    /// beside it, as `NAME.old` (or `NAME.old-2` and so on), until the caller removes it. A log or
    /// a journal that a crash has left is brought in first. Nobody else can use the file meanwhile.
    ///
    /// A kill at any point leaves the old file or the new one under the name, whole; calling this
    /// again goes on from there.
    ///
    /// ```swift
    /// do {
    ///     try db.open(with: passphrase)
    /// } catch SecureStorageError.legacyFormat {
    ///     let old = try SecureDatabaseStore.migrate(
    ///         at: db.databaseURL, key: .passphrase(passphrase))
    ///     try db.open(with: passphrase)
    ///     if let old { try FileManager.default.removeItem(at: old) }
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - url: The place of the file, which nobody has open.
    ///   - key: Its key.
    ///   - oldCipher: How it is encrypted, for a file of SQLCipher 4 with a plaintext header or
    ///     rounds of its own; the formats 1, 2 and 3, other page sizes and other HMACs, or none,
    ///     are found out.
    ///   - cipher: How the new file is encrypted.
    ///   - newKey: The new file's key; nil for the same.
    ///   - progress: Told of rows, then of pages; what it throws ends the work, and the old file
    ///     stays.
    /// - Returns: The place of the old file; nil when the file had the format already.
    /// - Throws: What `open` throws for a file that it does not open; `.openFailed` code 5 when it
    ///   is in use, or code 14 when there is no room for the new file; `.backingStoreError` for a
    ///   damaged file (salvage it first), a full disk; what `progress` throws.
    @discardableResult
    public static func migrate(
        at url: URL, key: DatabaseKey, from oldCipher: CipherConfiguration? = nil,
        to cipher: CipherConfiguration = .init(), newKey: DatabaseKey? = nil,
        progress: FileProgress.Handler = { _ in }
    ) throws -> URL? {
        try cipher.validate()
        try oldCipher?.validate()
        let migration = Migration(
            file: try DatabaseFile(at: url, creatingDirectory: false), key: try EncryptionKey(key),
            oldCipher: oldCipher, cipher: cipher, newKey: try newKey.map { try EncryptionKey($0) })
        return try migration.run(progress)
    }
}
