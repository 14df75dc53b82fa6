internal import SecureStoragePlatform

/// Secrets in this process's memory only, for tests and for keys that need not outlive the process.
///
/// Thread-safe.
public final class InMemoryKeyStore: KeyStore {
    private struct State {
        var secrets: [SecretName: SecretBytes] = [:]
        var isLocked = false
    }

    private let state = Locked(State())

    /// Creates an empty store.
    public init() {}

    /// Whether all calls throw ``KeyStoreError/unavailable(reason:)``, like those of a locked
    /// keychain.
    public var isLocked: Bool {
        get { state.withLock { $0.isLocked } }
        set { state.withLock { $0.isLocked = newValue } }
    }

    /// Stores a secret and replaces any existing one of that name.
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
    /// - Returns: The stored object itself, not a copy.
    /// - Throws: `KeyStoreError.notFound`; `.unavailable` while locked.
    public func read(_ name: String) throws -> SecretBytes {
        let key = try SecretName(name)
        guard let secret = try withSecrets({ $0[key] }) else {
            throw KeyStoreError.notFound(name: name)
        }
        return secret
    }

    /// Removes a secret; its memory is cleared when the last reference to it is released.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether a secret existed.
    /// - Throws: `KeyStoreError.unavailable` while locked.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        let name = try SecretName(name)
        return try withSecrets { $0.removeValue(forKey: name) != nil }
    }

    /// Returns the names that hold a secret.
    ///
    /// - Returns: The names, sorted by their bytes.
    /// - Throws: `KeyStoreError.unavailable` while locked.
    public func names() throws -> [String] {
        try withSecrets { $0.keys.sorted().map(\.text) }
    }

    private func withSecrets<T>(
        _ body: (inout [SecretName: SecretBytes]) throws -> T
    ) throws -> T {
        try state.withLock { state in
            guard !state.isLocked else { throw KeyStoreError.unavailable(reason: "it is locked") }
            return try body(&state.secrets)
        }
    }
}
