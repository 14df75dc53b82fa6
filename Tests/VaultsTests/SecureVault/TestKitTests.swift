import Foundation
import SecureStorage
import Testing
import TestSupport
import Vaults
import VaultsTestKit

/// Tests that the stand-ins behave as documented.
@Suite(.timeLimit(.minutes(10))) struct TestKitTests {
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
        #expect(vault.providers.database.key == (try vault.providers.keystore.l1Key()))
        #expect(try vault.levels.l2Encrypt(data: Data([1, 2])) == Data([1, 2]))
        try vault.levels.resetL2Password(oldPassword: nil, newPassword: Data("a".utf8))
        try vault.levels.authWith(password: Data("any".utf8))
        #expect(try vault.levels.l2Decrypt(data: Data([3])) == Data([3]))
    }

    @Test func `a mock of the encryption records calls and returns the configured values`() throws {
        let crypto = MockCryptoProvider()
        #expect(vaultError { _ = try crypto.deriveKeyFromPassword(Data()) } == "invalidPassword")
        #expect(
            vaultError { _ = try crypto.decrypt(Data(), withKey: Data()) } == "invalidPassword")
        crypto._derivedKey = Data([1])
        crypto._decryptedData = Data([2])
        #expect(try crypto.deriveKeyFromPassword(Data()) == Data([1]))
        #expect(try crypto.encrypt(Data([3]), withKey: Data([4])) == Data([3]))
        #expect(try crypto.decrypt(Data([5]), withKey: Data([6])) == Data([2]))
        #expect(crypto._lastDataToEncrypt == Data([3]))
        #expect(crypto._lastDataToDecrypt == Data([5]))
        #expect(crypto._lastKey == Data([6]))
        #expect(try crypto.hashData(Data()) == nil)
    }

    @Test func `a mock of the keys holds what the test sets and can be locked`() throws {
        let keys = MockKeyStoreProvider()
        #expect(keys._l1Key == nil && keys._encryptedL2Key == nil && keys._generatedPassword == nil)
        keys._l1Key = Data([1])
        keys._encryptedL2Key = Data([2])
        keys._generatedPassword = Data([3])
        #expect(try keys.l1Key() == Data([1]))
        #expect(try keys.encryptedL2Key() == Data([2]))
        #expect(try keys.generatedPassword() == Data([3]))
        try keys.storeL1Key(Data([4]))
        try keys.clearGeneratedPassword()
        #expect(keys._l1Key == Data([4]) && keys._generatedPassword == nil)
        keys.memory.isLocked = true
        #expect(vaultError { _ = try keys.l1Key() } == "keystoreReadError")
        #expect(vaultError { try keys.storeL1Key(Data([5])) } == "keystoreUpdateError")
    }

    @Test func `a temporary database is a real one, deleted with its provider`() throws {
        var provider: TemporaryDatabaseProvider? = try TemporaryDatabaseProvider(
            writerType: .pool
        ) { $0.add("t", sql: "CREATE TABLE t (x)") }
        let file = try #require(provider).file
        try provider?.inDatabaseTransaction { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
        #expect(
            vaultError {
                try provider?.inDatabaseTransaction {
                    try $0.executeUpdate("INSERT INTO t VALUES (2)")
                    try $0.executeUpdate("INSERT INTO nowhere VALUES (2)")
                }
            } == "databaseError")
        #expect(try provider?.db.read { try $0.int(forQuery: "SELECT count(*) FROM t") } == 1)
        #expect(FileManager.default.fileExists(atPath: file.path))
        provider = nil
        #expect(!FileManager.default.fileExists(atPath: file.deletingLastPathComponent().path))
    }
}
