public import SecureStorage

internal import Foundation

/// Secrets in the memory of this process only: for tests, and for keys that end with it.
///
/// Thread-safe.
public final class InMemoryKeyStore: KeyStore, @unchecked Sendable {
    // @unchecked: `secrets` and `locked` are only touched under `lock`.
    private let lock = NSLock()
    private var secrets: [SecretName: SecretBytes] = [:]
    private var locked = false

    /// An empty store.
    public init() {}

    /// Whether all calls throw ``KeyStoreError/unavailable(reason:)``, as those of a locked
    /// keychain do.
    public var isLocked: Bool {
        get { lock.withLock { locked } }
        set { lock.withLock { locked = newValue } }
    }

    /// Stores a secret, and replaces what the name held.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.unavailable` while locked.
    public func store(_ secret: SecretBytes, forName name: String) throws {
        let name = try SecretName(name)
        try SecretName.check(secret)
        try withSecrets { $0[name] = secret }
    }

    /// Stores a secret under a name that has none yet.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists`; `.unavailable` while locked.
    public func insert(_ secret: SecretBytes, forName name: String) throws {
        let key = try SecretName(name)
        try SecretName.check(secret)
        try withSecrets { secrets in
            guard secrets[key] == nil else { throw KeyStoreError.alreadyExists(name: name) }
            secrets[key] = secret
        }
    }

    /// Reads a secret.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: What was stored, not a copy.
    /// - Throws: `KeyStoreError.notFound`; `.unavailable` while locked.
    public func read(_ name: String) throws -> SecretBytes {
        let key = try SecretName(name)
        guard let secret = try withSecrets({ $0[key] }) else {
            throw KeyStoreError.notFound(name: name)
        }
        return secret
    }

    /// Removes a secret; its memory is cleared when nobody else holds it.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether there was one.
    /// - Throws: `KeyStoreError.unavailable` while locked.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        let name = try SecretName(name)
        return try withSecrets { $0.removeValue(forKey: name) != nil }
    }

    /// The names that hold a secret.
    ///
    /// - Returns: Sorted by their bytes.
    /// - Throws: `KeyStoreError.unavailable` while locked.
    public func names() throws -> [String] {
        try withSecrets { $0.keys.sorted().map(\.text) }
    }

    private func withSecrets<T>(
        _ body: (inout [SecretName: SecretBytes]) throws -> T
    ) throws -> T {
        try lock.withLock {
            guard !locked else { throw KeyStoreError.unavailable(reason: "it is locked") }
            return try body(&secrets)
        }
    }
}
