public import Foundation
internal import SecureStorage

// The default implementations, all based on `keyStore`.

extension SecureStorageKeyStoreProvider {
    /// `generated-password`.
    public var generatedPasswordEntryName: String { "generated-password" }

    /// `l1-key`.
    public var l1KeyEntryName: String { "l1-key" }

    /// `l2-key`.
    public var l2KeyEntryName: String { "l2-key" }

    /// Stores the password that is valid until the user sets one.
    ///
    /// - Parameter password: The password, which replaces any existing one.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeGeneratedPassword(_ password: Data) throws {
        try writeData(
            password, named: generatedPasswordEntryName, serviceName: keychainServiceName)
    }

    /// Returns the password that is valid until the user sets one.
    ///
    /// - Returns: The password, or nil when the user has set one.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func generatedPassword() throws -> Data? {
        try readData(named: generatedPasswordEntryName, serviceName: keychainServiceName)
    }

    /// Removes the generated password.
    ///
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func clearGeneratedPassword() throws {
        try removeData(named: generatedPasswordEntryName, serviceName: keychainServiceName)
    }

    /// Stores the device's key.
    ///
    /// - Parameter data: The key, which replaces any existing one.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeL1Key(_ data: Data) throws {
        try writeData(data, named: l1KeyEntryName, serviceName: keychainServiceName)
    }

    /// Returns the device's key.
    ///
    /// - Returns: The key, or nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func l1Key() throws -> Data? {
        try readData(named: l1KeyEntryName, serviceName: keychainServiceName)
    }

    /// Stores the wrapped key of L2.
    ///
    /// - Parameter data: The wrapped key, which replaces any existing one.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeEncryptedL2Key(_ data: Data) throws {
        try writeData(data, named: l2KeyEntryName, serviceName: keychainServiceName)
    }

    /// Returns the wrapped key of L2.
    ///
    /// - Returns: The wrapped key, or nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func encryptedL2Key() throws -> Data? {
        try readData(named: l2KeyEntryName, serviceName: keychainServiceName)
    }

    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Returns: The entry, or nil only when it does not exist.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func readData(named name: String, serviceName: String) throws -> Data? {
        do {
            return try keyStore.read(Self.entry(name, serviceName)).copied
        } catch KeyStoreError.notFound {
            return nil
        } catch {
            throw SecureVaultError.keystoreUnreadable(error)
        }
    }

    /// Reads an entry, or inserts it if it does not exist.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    ///   - makeData: Creates the data to insert.
    /// - Returns: The data that the key store now holds.
    /// - Throws: `SecureVaultError.keystoreReadError`; any error that `makeData` throws.
    public func readData(
        named name: String, serviceName: String, orInsert makeData: () throws -> Data
    ) throws -> Data {
        do {
            return try keyStore.read(Self.entry(name, serviceName)) {
                var data = try makeData()
                return SecretBytes(erasing: &data)
            }.copied
        } catch let error as KeyStoreError {
            throw SecureVaultError.keystoreUnreadable(error)
        }
    }

    /// Stores an entry and replaces any existing one.
    ///
    /// - Parameters:
    ///   - data: 1 to 65,536 bytes.
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func writeData(_ data: Data, named name: String, serviceName: String) throws {
        do {
            try keyStore.store(
                SecretBytes(copying: data), forName: Self.entry(name, serviceName))
        } catch {
            throw SecureVaultError.keystoreUpdateError(
                status: KeyStoreStatus.of(error), cause: error)
        }
    }

    /// Removes an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's service name.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func removeData(named name: String, serviceName: String) throws {
        do {
            try keyStore.remove(Self.entry(name, serviceName))
        } catch {
            throw SecureVaultError.keystoreUpdateError(
                status: KeyStoreStatus.of(error), cause: error)
        }
    }

    /// Returns the name under which the key store has an entry of this vault.
    func entry(_ name: String) -> String { Self.entry(name, keychainServiceName) }

    private static func entry(_ name: String, _ serviceName: String) -> String {
        "\(serviceName).\(name)"
    }
}
