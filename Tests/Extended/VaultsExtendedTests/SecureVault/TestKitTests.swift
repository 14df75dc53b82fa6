import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
import VaultsTestKit
@testable import VaultsTests

/// Tests that the stand-ins behave as documented.
struct TestKitTests {
    private final class MockedVault: SecureVault, Sendable {
        let providers: SecureStorageProviders<MockDatabaseProvider>
        let levels: SecureVaultLevels

        init(providers: SecureStorageProviders<MockDatabaseProvider>) {
            self.providers = providers
            levels = SecureVaultLevels(providers: providers)
        }
    }

    @Test func `levels work over encryption that does nothing`() throws {
        let factory = SecureVaultFactory<MockedVault>(
            makeCryptoProvider: { NoOpCryptoProvider() },
            makeKeyStoreProvider: { _ in MockKeyStoreProvider() },
            makeDatabaseProvider: { key, _ in try MockDatabaseProvider(key: key) })
        let vault = try factory.makeVault(reporter: nil)
        check(vault.providers.database.key, equals: (try vault.providers.keystore.l1Key()))
        try check(vault.levels.l2Encrypt(data: Data([1, 2])), equals: Data([1, 2]))
        try vault.levels.resetL2Password(oldPassword: nil, newPassword: Data("a".utf8))
        try vault.levels.authWith(password: Data("any".utf8))
        try check(vault.levels.l2Decrypt(data: Data([3])), equals: Data([3]))
    }

    @Test func `a mock of the encryption records calls and returns the configured values`() throws {
        let crypto = MockCryptoProvider()
        check(
            vaultError { _ = try crypto.deriveKeyFromPassword(Data()) }, equals: "invalidPassword")
        check(
            vaultError { _ = try crypto.decrypt(Data(), withKey: Data()) },
            equals: "invalidPassword")
        crypto._derivedKey = Data([1])
        crypto._decryptedData = Data([2])
        try check(crypto.deriveKeyFromPassword(Data()), equals: Data([1]))
        try check(crypto.encrypt(Data([3]), withKey: Data([4])), equals: Data([3]))
        try check(crypto.decrypt(Data([5]), withKey: Data([6])), equals: Data([2]))
        check(crypto._lastDataToEncrypt, equals: Data([3]))
        check(crypto._lastDataToDecrypt, equals: Data([5]))
        check(crypto._lastKey, equals: Data([6]))
        try check(crypto.hashData(Data()) == nil)
    }

    @Test func `a mock of the keys holds what the test sets and can be locked`() throws {
        let keys = MockKeyStoreProvider()
        check(keys._l1Key == nil && keys._encryptedL2Key == nil && keys._generatedPassword == nil)
        keys._l1Key = Data([1])
        keys._encryptedL2Key = Data([2])
        keys._generatedPassword = Data([3])
        try check(keys.l1Key(), equals: Data([1]))
        try check(keys.encryptedL2Key(), equals: Data([2]))
        try check(keys.generatedPassword(), equals: Data([3]))
        try keys.storeL1Key(Data([4]))
        try keys.clearGeneratedPassword()
        check(keys._l1Key == Data([4]) && keys._generatedPassword == nil)
        keys.memory.isLocked = true
        check(vaultError { _ = try keys.l1Key() }, equals: "keystoreReadError")
        check(vaultError { try keys.storeL1Key(Data([5])) }, equals: "keystoreUpdateError")
    }

    @Test func `a temporary database is a real one, deleted with its provider`() throws {
        var provider: TemporaryDatabaseProvider? = try TemporaryDatabaseProvider(
            writerType: .pool
        ) { $0.add("t", sql: "CREATE TABLE t (x)") }
        let file = try require(provider).file
        try provider?.inDatabaseTransaction { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        check(
            vaultError {
                try provider?.inDatabaseTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (2)")
                    try $0.executeUpdate("INSERT INTO nowhere VALUES (2)")
                }
            }, equals: "databaseError")
        try check(provider?.db.read { try $0.int(forQuery: "SELECT count(*) FROM t") }, equals: 1)
        check(FileManager.default.fileExists(atPath: file.path))
        provider = nil
        check(!FileManager.default.fileExists(atPath: file.deletingLastPathComponent().path))
    }
}
