internal import SecureStorage

// The names of the original, where the Swift names differ.

extension DataVault {
    /// Creates a vault; see `create(id:password:policy:)`.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`.
    public static func createVault(
        _ id: String, password: some DataVaultPassword
    ) throws -> DataVault {
        try create(id: id, password: password)
    }

    /// Creates a vault; see the `async` variant of `create(id:password:policy:)`.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`; `CancellationError` if the task was cancelled beforehand.
    public static func createVault(
        _ id: String, password: some DataVaultPassword
    ) async throws -> DataVault {
        try await create(id: id, password: password)
    }

    /// Returns an existing vault; see ``vault(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault.
    /// - Throws: `DataVaultError`.
    public static func getVault(_ id: String) throws -> DataVault { try vault(id: id) }

    /// Deletes a vault; see ``delete(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it existed.
    /// - Throws: `DataVaultError`.
    @discardableResult
    public static func deleteVault(_ id: String) throws -> Bool { try delete(id: id) }

    /// Returns whether a vault exists; see ``exists(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it exists.
    /// - Throws: `DataVaultError`.
    public static func vaultExists(_ id: String) throws -> Bool { try exists(id: id) }

    /// Returns the ids of all vaults; see ``ids()``.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError`.
    public static func dataVaultIds() throws -> [String] { try ids() }

    /// Whether the vault is locked; see ``isLocked``.
    public var locked: Bool { isLocked }

    /// Whether the password is the default one; see ``isDefaultPasswordUsed``.
    public var defaultPasswordUsed: Bool { get throws { try isDefaultPasswordUsed } }

    /// Unlocks the vault; see `unlock(password:)`.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`.
    public func unlock(_ password: some DataVaultPassword) throws {
        try unlock(password: password)
    }

    /// Unlocks the vault; see the `async` variant of `unlock(password:)`.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`; `CancellationError` if the task was cancelled beforehand.
    public func unlock(_ password: some DataVaultPassword) async throws {
        try await unlock(password: password)
    }
}
