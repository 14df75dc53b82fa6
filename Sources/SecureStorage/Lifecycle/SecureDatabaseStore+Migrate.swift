public import Foundation

extension SecureDatabaseStore {
    /// Converts a file of SQLCipher 1, 2 or 3, of another cipher configuration or without HMACs to
    /// the format of `cipher`.
    ///
    /// The content is copied into a new file, whose rows are counted and whose pages and structures
    /// are checked; then the new file takes the old one's name, in one step. The old file is kept
    /// beside it, as `NAME.old` (or `NAME.old-2` and so on), until the caller removes it. A log or
    /// a journal left by a crash is applied first. No other connection can use the file in the
    /// meantime.
    ///
    /// A kill at any point leaves either the old or the new file under the name, complete; calling
    /// this again continues from there.
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
    ///   - url: The location of the file, which must not be open.
    ///   - key: The file's key.
    ///   - oldCipher: The file's cipher configuration, for a file of SQLCipher 4 with a plaintext
    ///     header or a non-default number of rounds; the formats 1, 2 and 3, other page sizes and
    ///     other HMACs, or none, are detected.
    ///   - cipher: The new file's cipher configuration.
    ///   - newKey: The new file's key; nil for the same.
    ///   - progress: Receives numbers of rows, then of pages; throwing ends the migration, and the
    ///     old file stays.
    /// - Returns: The location of the old file; nil if the file already had the format.
    /// - Throws: What `open` throws for a file that it does not open; `.openFailed` code `.busy` if
    ///   it is in use, or code `.cannotOpen` if there is no room for the new file;
    ///   `.backingStoreError` for a damaged file (salvage it first), a full disk; what `progress`
    ///   throws.
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
