/// A store for a few small named secrets, such as database keys.
///
/// A name is any text of 1 to 255 bytes of UTF-8. Two names are equal when their bytes are; letter
/// case and Unicode normalisation matter. A secret has 1 to 65,536 bytes.
///
/// Calls are synchronous and may block on a disk, another process or a service. They may be made
/// from any thread that may block. Each call is atomic: a concurrent read, or a read after a crash,
/// returns the old secret or the new one.
///
/// Implementations throw ``KeyStoreError``. They throw ``KeyStoreError/notFound(name:)`` only after
/// a successful lookup that found nothing; a locked store throws
/// ``KeyStoreError/unavailable(reason:)``.
public protocol KeyStore: Sendable {
    /// Stores a secret and replaces any existing one of that name.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`; the name then holds its previous secret or the new one.
    func store(_ secret: SecretBytes, forName name: String) throws

    /// Stores a secret under a name that has none yet.
    ///
    /// If several threads or processes call this concurrently for the same name, exactly one
    /// succeeds.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists` when the name holds anything, even a damaged secret.
    func insert(_ secret: SecretBytes, forName name: String) throws

    /// Reads a secret.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes as they were stored.
    /// - Throws: `KeyStoreError.notFound` when the name has no secret; `.damaged` instead of
    ///   returning other bytes.
    func read(_ name: String) throws -> SecretBytes

    /// Removes a secret, even a damaged one.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether a secret existed.
    /// - Throws: `KeyStoreError` when it cannot be removed.
    @discardableResult
    func remove(_ name: String) throws -> Bool

    /// Returns the names that hold a secret.
    ///
    /// - Returns: The names, sorted by their bytes.
    /// - Throws: `KeyStoreError.damaged` instead of returning an incomplete list.
    func names() throws -> [String]
}

extension KeyStore {
    /// Reads a secret, or stores a new one if none exists; concurrent callers all get the same
    /// bytes.
    ///
    /// Use this for a key that no data depends on yet. If data exists, call ``read(_:)``: a new key
    /// does not decrypt data that was encrypted with a lost one.
    ///
    /// - Parameters:
    ///   - name: 1 to 255 bytes of UTF-8.
    ///   - makeSecret: Creates the new bytes. Called only when the name has no secret; its result
    ///     is discarded if another caller inserts one first.
    /// - Returns: The secret that the store now holds.
    /// - Throws: `KeyStoreError`, and any error that `makeSecret` throws.
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
