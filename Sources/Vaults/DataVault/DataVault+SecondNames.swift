public import Foundation
internal import SecureStorage

// Second names, each deprecated without a warning: of the guide, where Swift's are the first ones,
// and of Swift, where the guide's are.

extension DataVault {
    /// Creates a vault; see `create(id:password:policy:)`.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8.
    ///   - password: Empty for the default password.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "create(id:password:)")
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
    @available(swift, deprecated: 100, renamed: "create(id:password:)")
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
    @available(swift, deprecated: 100, renamed: "vault(id:)")
    public static func getVault(_ id: String) throws -> DataVault { try vault(id: id) }

    /// Deletes a vault; see ``delete(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it existed.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "delete(id:)")
    @discardableResult
    public static func deleteVault(_ id: String) throws -> Bool { try delete(id: id) }

    /// Returns whether a vault exists; see ``exists(id:)``.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it exists.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "exists(id:)")
    public static func vaultExists(_ id: String) throws -> Bool { try exists(id: id) }

    /// Returns the ids of all vaults; see ``ids()``.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "ids()")
    public static func dataVaultIds() throws -> [String] { try ids() }

    /// Whether the vault is locked; see ``isLocked``.
    @available(swift, deprecated: 100, renamed: "isLocked")
    public var locked: Bool { isLocked }

    /// Whether the password is the default one; see ``isDefaultPasswordUsed``.
    @available(swift, deprecated: 100, renamed: "isDefaultPasswordUsed")
    public var defaultPasswordUsed: Bool { get throws { try isDefaultPasswordUsed } }

    /// Unlocks the vault; see `unlock(password:)`.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "unlock(password:)")
    public func unlock(_ password: some DataVaultPassword) throws {
        try unlock(password: password)
    }

    /// Unlocks the vault; see the `async` variant of `unlock(password:)`.
    ///
    /// - Parameter password: Empty for the default password.
    /// - Throws: `DataVaultError`; `CancellationError` if the task was cancelled beforehand.
    @available(swift, deprecated: 100, renamed: "unlock(password:)")
    public func unlock(_ password: some DataVaultPassword) async throws {
        try await unlock(password: password)
    }

    // MARK: - Values

    /// Reads a string; see ``getString(_:)``.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: The string; nil if the name has no value.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "getString(_:)")
    public func string(for name: String) throws -> String? { try getString(name) }

    /// Reads data; see ``getValue(_:)``.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: The data; nil if the name has no value.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "getValue(_:)")
    public func data(for name: String) throws -> Data? { try getValue(name) }

    /// Stores a string; see ``setString(_:value:)``.
    ///
    /// - Parameters:
    ///   - value: The string.
    ///   - name: 1 to 255 bytes.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "setString(_:value:)")
    public func set(_ value: String, for name: String) throws { try setString(name, value: value) }

    /// Stores data; see ``setValue(_:value:)``.
    ///
    /// - Parameters:
    ///   - value: The data.
    ///   - name: 1 to 255 bytes.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "setValue(_:value:)")
    public func set(_ value: Data, for name: String) throws { try setValue(name, value: value) }

    /// Deletes the value of a name; see ``deleteValue(_:)``.
    ///
    /// - Parameter name: 1 to 255 bytes.
    /// - Returns: Whether it had a value.
    /// - Throws: `DataVaultError`.
    @available(swift, deprecated: 100, renamed: "deleteValue(_:)")
    @discardableResult
    public func removeValue(for name: String) throws -> Bool { try deleteValue(name) }
}
