internal import SecureStorage

// The vaults of the current container: at first this program's own. Its files are in `Application
// Support` on Apple platforms, in `$XDG_DATA_HOME` or `~/.local/share` elsewhere, and there in
// `DataVaults` in a folder with the bundle identifier or the name of the program; its keys are in
// the keychain, or in `DataVaults/Keys`.

extension DataVault {
    /// Makes a vault.
    ///
    /// - Parameters:
    ///   - id: 1 to 255 bytes of UTF-8, such as `org.example.notes.main`.
    ///   - password: Empty for the default password.
    ///   - policy: The vault's policy, which the password has to keep to.
    /// - Returns: The vault, unlocked.
    /// - Throws: `DataVaultError`: `.alreadyExists`, codes 50 to 56, and as
    ///   `DataVaultContainer.create(id:password:policy:)`.
    public static func create(
        id: String, password: some DataVaultPassword, policy: DataVaultPasswordPolicy = .init()
    ) throws -> DataVault {
        try CurrentContainer.shared.value.create(id: id, password: password, policy: policy)
    }

    /// A vault that exists.
    ///
    /// - Parameter id: Its id.
    /// - Returns: The vault; locked when nobody has referred to it.
    /// - Throws: `DataVaultError`: `.doesNotExist`, and as ``DataVaultContainer/vault(id:)``.
    public static func vault(id: String) throws -> DataVault {
        try CurrentContainer.shared.value.vault(id: id)
    }

    /// Deletes a vault; does nothing when there is none.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether there was one.
    /// - Throws: `DataVaultError`, as ``DataVaultContainer/delete(id:)``.
    @discardableResult
    public static func delete(id: String) throws -> Bool {
        try CurrentContainer.shared.value.delete(id: id)
    }

    /// Whether there is a vault of an id.
    ///
    /// - Parameter id: Its id.
    /// - Returns: Whether it exists.
    /// - Throws: `DataVaultError`, as ``DataVaultContainer/exists(id:)``.
    public static func exists(id: String) throws -> Bool {
        try CurrentContainer.shared.value.exists(id: id)
    }

    /// The ids of all vaults.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public static func ids() throws -> [String] {
        try CurrentContainer.shared.value.ids()
    }

    /// The ids of vaults that an earlier installation of the app has left: see
    /// ``DataVaultContainer/idsOfEarlierInstallation()``.
    ///
    /// - Returns: In the order of their bytes.
    /// - Throws: `DataVaultError.ioReadError`.
    public static func idsOfEarlierInstallation() throws -> [String] {
        try CurrentContainer.shared.value.idsOfEarlierInstallation()
    }

    /// Shares vaults with other programs, from now on: vaults that are there already stay what they
    /// are.
    ///
    /// - Parameter accessGroup: On Apple platforms an app group that the entitlements name, which
    ///   is both a keychain access group and a container for files. Elsewhere the path of a
    ///   directory that a group of users shares, with the mode 2770, such as `/var/lib/suite`; or
    ///   one name, such as `org.example.suite`: a directory of mode 0700 in `$XDG_DATA_HOME` or
    ///   `~/.local/share`, for the programs of one user.
    /// - Throws: `DataVaultError`: `.invalidArg` for an empty name, or a directory whose mode is
    ///   another; `.ioReadError`, `.ioWriteError`.
    public static func setAccessGroup(_ accessGroup: String) throws {
        try CurrentContainer.shared.share(accessGroup: accessGroup)
    }

    /// Is called when a vault of the current container is no more: see
    /// ``DataVaultContainer/onDestruction``.
    public static var onDestruction: DataVaultContainer.DestructionHandler? {
        get { CurrentContainer.shared.onDestruction }
        set { CurrentContainer.shared.onDestruction = newValue }
    }
}
