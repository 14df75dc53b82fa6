internal import SecureStorage

// The vaults of the current container, initially this program's own. Its files are in
// `Application Support` on Apple platforms, elsewhere in `$XDG_DATA_HOME` or `~/.local/share`:
// there in `DataVaults`, in a folder with the application's name, or otherwise the program's bundle
// identifier or name. Its keys are in the keychain, or in `DataVaults/Keys`.

extension DataVault {
    /// Creates a vault.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8, such as `org.example.notes.main`.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password must satisfy.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`: `.alreadyExists`, codes 50 to 56, and as
    ///   `DataVaultContainer.create(id:password:policy:)`.
    public static func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) throws -> DataVault {
        try CurrentContainer.shared.value.create(id: id, password: password, policy: policy)
    }

    /// Returns an existing vault.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault; locked unless it is already in use.
    /// - Throws: `DataVaultError`: `.doesNotExist`, and as ``DataVaultContainer/vault(id:)``.
    public static func vault(id: String) throws -> DataVault {
        try CurrentContainer.shared.value.vault(id: id)
    }

    /// Deletes a vault; does nothing if it does not exist.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it existed.
    /// - Throws: `DataVaultError`, as ``DataVaultContainer/delete(id:)``.
    @discardableResult
    public static func delete(id: String) throws -> Bool {
        try CurrentContainer.shared.value.delete(id: id)
    }

    /// Returns whether a vault with an id exists.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it exists.
    /// - Throws: `DataVaultError`, as ``DataVaultContainer/exists(id:)``.
    public static func exists(id: String) throws -> Bool {
        try CurrentContainer.shared.value.exists(id: id)
    }

    /// Returns the ids of all vaults.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public static func ids() throws -> [String] {
        try CurrentContainer.shared.value.ids()
    }

    /// Returns the ids of vaults left by an earlier installation of the app: see
    /// ``DataVaultContainer/idsOfEarlierInstallation()``.
    ///
    /// - Returns: The ids, ordered by their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public static func idsOfEarlierInstallation() throws -> [String] {
        try CurrentContainer.shared.value.idsOfEarlierInstallation()
    }

    /// Names the application, whose own vaults are used from now on; existing vaults stay as they
    /// are.
    ///
    /// Call it once, at the start. Without it, the vaults of a program that has no bundle
    /// identifier are found by the name of its file: a renamed program finds its vaults with its
    /// earlier name.
    ///
    /// - Parameter name: Such as `org.example.notes`: 1 to 200 bytes without a slash, not beginning
    ///   with a dot.
    /// - Throws: `DataVaultError`: `.invalidArg`, `.nameTooLong`, `.ioReadError`, `.ioWriteError`.
    public static func setApplicationName(_ name: String) throws {
        try CurrentContainer.shared.setApplicationName(name)
    }

    /// Shares vaults with other programs from now on; existing vaults stay as they are.
    ///
    /// - Parameter accessGroup: On Apple platforms, an app group listed in the entitlements, which
    ///   is both a keychain access group and a container for files. Elsewhere, the path of a
    ///   directory of mode 2770 that a group of users shares, such as `/var/lib/suite`; or a single
    ///   name, such as `org.example.suite`: a directory of mode 0700 in `$XDG_DATA_HOME` or
    ///   `~/.local/share`, for the programs of one user.
    /// - Throws: `DataVaultError`: `.invalidArg` for an empty name or a directory with another
    ///   mode; `.ioReadError`, `.ioWriteError`.
    public static func setAccessGroup(_ accessGroup: String) throws {
        try CurrentContainer.shared.share(accessGroup: accessGroup)
    }

    /// The handler called when a vault of the current container is destroyed: see
    /// ``DataVaultContainer/onDestruction``.
    public static var onDestruction: DataVaultContainer.DestructionHandler? {
        get { CurrentContainer.shared.onDestruction }
        set { CurrentContainer.shared.onDestruction = newValue }
    }
}
