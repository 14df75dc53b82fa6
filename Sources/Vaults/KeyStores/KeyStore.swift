public import SecureStorage

/// A place for a few small secrets, such as the keys of databases: each has a name.
///
/// A name is any text of 1 to 255 bytes of UTF-8. Two names are the same when their bytes are:
/// neither letter case nor Unicode normalisation makes them equal. A secret has 1 to 65,536 bytes.
///
/// Calls are synchronous and may block: for a disk, another process, or a service. Make them from
/// any thread, and not from one that must not wait. Each call is atomic: whoever reads at the same
/// time, or after a crash, finds the old secret or the new one.
///
/// What an implementation throws is a ``KeyStoreError``. It says ``KeyStoreError/notFound(name:)``
/// only when it has looked and there was nothing: a store that is locked is
/// ``KeyStoreError/unavailable(reason:)``.
public protocol KeyStore: Sendable {
    /// Stores a secret, and replaces what the name held.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`; the name holds what it held before, or the new secret.
    func store(_ secret: SecretBytes, forName name: String) throws

    /// Stores a secret under a name that has none yet.
    ///
    /// Of several threads and processes that call at once for the same name, one succeeds.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists` when the name holds anything, also what is damaged.
    func insert(_ secret: SecretBytes, forName name: String) throws

    /// Reads a secret.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes as they were stored.
    /// - Throws: `KeyStoreError.notFound` when the name has none, `.damaged` rather than other
    ///   bytes.
    func read(_ name: String) throws -> SecretBytes

    /// Removes a secret, also one that is damaged.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether there was one.
    /// - Throws: `KeyStoreError` when it cannot be removed.
    @discardableResult
    func remove(_ name: String) throws -> Bool

    /// The names that hold a secret.
    ///
    /// - Returns: Sorted by their bytes.
    /// - Throws: `KeyStoreError.damaged` rather than a list with a gap.
    func names() throws -> [String]
}

extension KeyStore {
    /// Reads a secret, or stores a new one where there is none: all who call at once get the same
    /// bytes.
    ///
    /// For a key that no data needs yet. Where there is data, ``read(_:)`` is the call: a new key
    /// does not open what the lost one has closed.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - makeSecret: Makes the new bytes. Called only when the name has none, and what it returns
    ///     can go unused because another caller was first.
    /// - Returns: What the store holds now.
    /// - Throws: `KeyStoreError`, and what `makeSecret` throws.
    public func read(
        _ name: String, orInsert makeSecret: () throws -> SecretBytes
    ) throws -> SecretBytes {
        do {
            return try read(name)
        } catch KeyStoreError.notFound {
            let secret = try makeSecret()
            do {
                try insert(secret, forName: name)
                return secret
            } catch KeyStoreError.alreadyExists {
                return try read(name)
            }
        }
    }
}
