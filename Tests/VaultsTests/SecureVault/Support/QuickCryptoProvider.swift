import Foundation

@testable import Vaults

/// The real encryption with a free key derivation, for tests of everything but password guessing.
struct QuickCryptoProvider: SecureStorageCryptoProvider {
    let real: VaultCryptoProvider

    init(_ keyStore: some KeyStore) { real = VaultCryptoProvider(keyStore: keyStore) }

    var passwordSalt: Data { real.passwordSalt }
    var hashingSalt: Data? { real.hashingSalt }
    var keychainServiceName: String { real.keychainServiceName }
    var keychainAccountName: String { real.keychainAccountName }

    func deriveKeyFromPassword(_ password: Data) throws -> Data {
        Data(base64Encoded: SaltedHash(salt: passwordSalt).of(password)) ?? Data()
    }
}
