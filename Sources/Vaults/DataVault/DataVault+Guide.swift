internal import SecureStorage

// The names of the original, where Swift has others.

extension DataVault {
    /// Makes a vault; see `create(id:password:policy:)`.
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

    /// Makes a vault; see `create(id:password:policy:)`, which can be awaited, too.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`; `CancellationError` when the task was cancelled before.
    public static func createVault(
        _ id: String, password: some DataVaultPassword
    ) async throws -> DataVault {
        try await create(id: id, password: password)
    }

    /// A vault that exists; see ``vault(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault.
    /// - Throws: `DataVaultError`.
    public static func getVault(_ id: String) throws -> DataVault { try vault(id: id) }

    /// Deletes a vault; see ``delete(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether there was one.
    /// - Throws: `DataVaultError`.
    @discardableResult
    public static func deleteVault(_ id: String) throws -> Bool { try delete(id: id) }

    /// Whether there is a vault of an id; see ``exists(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it exists.
    /// - Throws: `DataVaultError`.
    public static func vaultExists(_ id: String) throws -> Bool { try exists(id: id) }

    /// The ids of all vaults; see ``ids()``.
    ///
    /// - Returns: In the order of their bytes.
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

    /// Unlocks the vault; see `unlock(password:)`, which can be awaited, too.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`; `CancellationError` when the task was cancelled before.
    public func unlock(_ password: some DataVaultPassword) async throws {
        try await unlock(password: password)
    }
}
