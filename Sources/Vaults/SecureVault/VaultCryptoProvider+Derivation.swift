public import Foundation
internal import SecureStorage

// For apps that wrap the key of L2 with the crypto provider's calls, as in the reference's code:
// boxes without a header, whose derivation is in an entry of its own.

extension VaultCryptoProvider {
    private static let derivationEntryName = "password-derivation"
    private static let previousEntryName = "password-derivation.previous"

    /// Derives a key from a password.
    ///
    /// - Parameter password: At least one byte.
    /// - Returns: 32 bytes, the same for every call until ``SecureVaultLevels`` changes the password
    ///   or raises weak parameters. A box under an earlier key opens all the same: the last three
    ///   derivations are kept.
    /// - Throws: `SecureVaultError`: `.noL2Key` when the salt is lost but a wrapped key needs it;
    ///   `.keystoreReadError`, `.keystoreUpdateError`; `.invalidPassword` for an empty password.
    public func deriveKeyFromPassword(_ password: Data) throws -> Data {
        guard let record = try levelRecord(), let derivation = PasswordDerivation(of: record.key)
        else { return try wrappingKey(of: password) { try keystore.encryptedL2Key() }.key }
        let key = try derivation.key(of: password)
        // The app may store a box under this key in place of the record, which has the salt.
        let stored = try? storedDerivation()
        if stored != derivation {
            if let stored { try keepAsPrevious(stored) }
            try store(derivation, Self.derivationEntryName)
        }
        return key
    }

    /// Decrypts the result of `encrypt(_:withKey:)`, or the key store's record of L2's key.
    ///
    /// - Parameters:
    ///   - data: The ciphertext, or the result of `encryptedL2Key()`.
    ///   - key: 32 bytes.
    /// - Returns: The plaintext.
    /// - Throws: `SecureVaultError`: `.generalCryptoError` for data that is too short or a key of
    ///   another length, otherwise `.invalidPassword`.
    public func decrypt(_ data: Data, withKey key: Data) throws -> Data {
        guard key.count == KeyMaterial.length,
            let record = try? PasswordLevelRecord(data, in: keystore)
        else { return try Self.open(data, withKey: key) }
        return try record.unwrap(withDerived: SecretBytes(copying: key)).copied
    }

    /// Returns the key and the derivation that open a box, or otherwise the current derivation.
    ///
    /// Several derivations are possible: the program may have been killed while it raised the
    /// parameters, and an app may have derived its key before another process replaced the salt.
    func wrappingKey(
        of password: Data, opening wrapped: () throws -> Data?
    ) throws -> (key: Data, derivation: PasswordDerivation) {
        let current = try storedDerivation()
        var key = try current.key(of: password)
        var others = try previousDerivations().filter { $0 != current }
        // To the parameters of this program, or of one that requests no stronger ones than the
        // vault has.
        for wanted in [parameters, current.parameters] {
            guard let stronger = current.strengthened(to: wanted), !others.contains(stronger)
            else { continue }
            others.append(stronger)
        }
        guard !others.isEmpty, let wrapped = try? wrapped(), !opens(wrapped, key) else {
            return (key, current)
        }
        for other in others {
            guard var otherKey = try? other.key(of: password) else { continue }
            if opens(wrapped, otherKey) {
                key.erase()
                return (otherKey, other)
            }
            otherKey.erase()
        }
        return (key, current)
    }

    func currentDerivation() throws -> PasswordDerivation {
        try levelRecord().flatMap { PasswordDerivation(of: $0.key) } ?? storedDerivation()
    }

    private func levelRecord() throws -> PasswordLevelRecord? {
        // An app's own provider, which uses this one, may store anything else.
        guard let bytes = try keystore.encryptedL2Key(), PasswordLevelRecord.isOne(bytes) else {
            return nil
        }
        return try PasswordLevelRecord(bytes, in: keystore)
    }

    private func opens(_ wrapped: Data, _ key: Data) -> Bool {
        guard var plaintext = try? Self.open(wrapped, withKey: key) else { return false }
        plaintext.erase()
        return true
    }

    private func store(_ derivation: PasswordDerivation, _ name: String) throws {
        try keystore.writeData(
            derivation.bytes, named: name, serviceName: keychainServiceName)
    }

    /// The derivations before the current one, the latest first.
    private func previousDerivations() throws -> [PasswordDerivation] {
        let bytes =
            try keystore.readData(named: Self.previousEntryName, serviceName: keychainServiceName)
            ?? Data()
        return stride(from: 0, to: bytes.count, by: PasswordDerivation.length).compactMap {
            try? PasswordDerivation(
                bytes: Data(bytes.dropFirst($0).prefix(PasswordDerivation.length)))
        }
    }

    private func keepAsPrevious(_ derivation: PasswordDerivation) throws {
        let all = [derivation] + (try previousDerivations().filter { $0 != derivation })
        try keystore.writeData(
            Data(all.prefix(3).map(\.bytes).joined()), named: Self.previousEntryName,
            serviceName: keychainServiceName)
    }

    private func storedDerivation() throws -> PasswordDerivation {
        let bytes = try keystore.readData(
            named: Self.derivationEntryName, serviceName: keychainServiceName
        ) {
            // Another salt would make the right password wrong.
            guard try keystore.encryptedL2Key() == nil else { throw SecureVaultError.noL2Key }
            return PasswordDerivation.random(parameters).bytes
        }
        return try keystore.record(in: bytes, named: Self.derivationEntryName) {
            try PasswordDerivation(bytes: $0)
        }
    }
}
