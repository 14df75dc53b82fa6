public import Foundation
internal import SecureStorage

// The default implementations: all of them go over `keyStore`.

extension SecureStorageKeyStoreProvider {
    /// `generated-password`.
    public var generatedPasswordEntryName: String { "generated-password" }

    /// `l1-key`.
    public var l1KeyEntryName: String { "l1-key" }

    /// `l2-key`.
    public var l2KeyEntryName: String { "l2-key" }

    /// Stores the password that holds until the user sets one.
    ///
    /// - Parameter password: Replaces what is there.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeGeneratedPassword(_ password: Data) throws {
        try writeData(
            password, named: generatedPasswordEntryName, serviceName: keychainServiceName)
    }

    /// The password that holds until the user sets one.
    ///
    /// - Returns: nil when the user has set one.
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
    /// - Parameter data: Replaces what is there.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeL1Key(_ data: Data) throws {
        try writeData(data, named: l1KeyEntryName, serviceName: keychainServiceName)
    }

    /// The device's key.
    ///
    /// - Returns: nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func l1Key() throws -> Data? {
        try readData(named: l1KeyEntryName, serviceName: keychainServiceName)
    }

    /// Stores the wrapped key of L2.
    ///
    /// - Parameter data: Replaces what is there.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func storeEncryptedL2Key(_ data: Data) throws {
        try writeData(data, named: l2KeyEntryName, serviceName: keychainServiceName)
    }

    /// The wrapped key of L2.
    ///
    /// - Returns: nil before the first run.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func encryptedL2Key() throws -> Data? {
        try readData(named: l2KeyEntryName, serviceName: keychainServiceName)
    }

    /// Reads an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Returns: nil for an absent one, and only then.
    /// - Throws: `SecureVaultError.keystoreReadError`.
    public func readData(named name: String, serviceName: String) throws -> Data? {
        do {
            return try keyStore.read(Self.entry(name, serviceName)).copied
        } catch KeyStoreError.notFound {
            return nil
        } catch {
            throw SecureVaultError.keystoreReadError(status: KeyStoreStatus.of(error))
        }
    }

    /// Reads an entry, or inserts it where there is none.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    ///   - makeData: Makes what is inserted.
    /// - Returns: What the key store holds now.
    /// - Throws: `SecureVaultError.keystoreReadError`; what `makeData` throws.
    public func readData(
        named name: String, serviceName: String, orInsert makeData: () throws -> Data
    ) throws -> Data {
        do {
            return try keyStore.read(Self.entry(name, serviceName)) {
                var data = try makeData()
                return SecretBytes(erasing: &data)
            }.copied
        } catch let error as KeyStoreError {
            throw SecureVaultError.keystoreReadError(status: KeyStoreStatus.of(error))
        }
    }

    /// Stores an entry, and replaces what it held.
    ///
    /// - Parameters:
    ///   - data: 1 to 65,536 bytes.
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func writeData(_ data: Data, named name: String, serviceName: String) throws {
        do {
            try keyStore.store(
                SecretBytes(copying: data), forName: Self.entry(name, serviceName))
        } catch {
            throw SecureVaultError.keystoreUpdateError(status: KeyStoreStatus.of(error))
        }
    }

    /// Removes an entry.
    ///
    /// - Parameters:
    ///   - name: The entry's name.
    ///   - serviceName: The vault's.
    /// - Throws: `SecureVaultError.keystoreUpdateError`.
    public func removeData(named name: String, serviceName: String) throws {
        do {
            try keyStore.remove(Self.entry(name, serviceName))
        } catch {
            throw SecureVaultError.keystoreUpdateError(status: KeyStoreStatus.of(error))
        }
    }

    private static func entry(_ name: String, _ serviceName: String) -> String {
        "\(serviceName).\(name)"
    }
}
