import Foundation
import Vaults
import VaultsTestKit

/// A provider whose key derivation a test can block.
final class GatedCryptoProvider: SecureStorageCryptoProvider, @unchecked Sendable {
    // @unchecked: the two variables are only touched under `condition`.
    private let base: NoOpCryptoProvider
    private let condition = NSCondition()
    private var open = true
    private var waiters = 0

    init(_ base: NoOpCryptoProvider) { self.base = base }

    var isOpen: Bool {
        get { condition.withLock { open } }
        set {
            condition.withLock {
                open = newValue
                condition.broadcast()
            }
        }
    }

    var waiting: Int { condition.withLock { waiters } }
    var passwordSalt: Data { base.passwordSalt }
    var hashingSalt: Data? { base.hashingSalt }
    var keychainServiceName: String { base.keychainServiceName }
    var keychainAccountName: String { base.keychainAccountName }

    func deriveKeyFromPassword(_ password: Data) throws -> Data {
        condition.withLock {
            waiters += 1
            while !open { condition.wait() }
            waiters -= 1
        }
        return try base.deriveKeyFromPassword(password)
    }

    func encrypt(_ data: Data, withKey key: Data) throws -> Data { data }
    func decrypt(_ data: Data, withKey key: Data) throws -> Data { Data(data) }
}
