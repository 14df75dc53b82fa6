import Foundation
import SecureStorage
import Testing
import Vaults

@Suite(.timeLimit(.minutes(10))) struct SecureVaultErrorTests {
    private struct Foreign: Error {
        let secret: String
    }

    private static let cause = Foreign(secret: "hunter2")

    static let all: [SecureVaultError] = [
        .initFailed(cause: cause), .authRequired, .invalidPassword, .noL1Key, .noL2Key,
        .authError(cause: cause), .failedToOpenDatabase(cause: cause),
        .databaseError(cause: cause), .duplicateRecord, .keystoreError(status: 1),
        .secError(status: 2), .generalCryptoError, .encodingFailed,
        .keystoreReadError(status: -25308), .keystoreUpdateError(status: -25308),
    ]

    @Test func `codes are 1 to 15, in the domain that metrics expect`() {
        #expect(Self.all.map(\.errorCode) == Array(1...15))
        #expect(SecureVaultError.errorDomain == "SecureVaultError")
    }

    @Test func `an error says what to do and prints nothing of a foreign cause`() {
        for error in Self.all {
            var dumped = ""
            dump(error, to: &dumped)
            for text in [
                error.description, error.localizedDescription, String(reflecting: error), dumped,
            ] {
                #expect(!text.contains("hunter2"))
                #expect(!text.isEmpty)
            }
            #expect(error.description.first?.isLowercase == true)
        }
    }

    @Test func `an error of the key store says which entry, and why`() {
        let damaged = KeyStoreError.damaged(name: "SecureVault.l2-key", reason: "cut off: \"/k\"")
        let error = SecureVaultError.keystoreReadError(status: -26275, cause: damaged)
        #expect(error.cause as? KeyStoreError == damaged)
        #expect(error.description.contains("\"SecureVault.l2-key\" is damaged: cut off: \"/k\""))
        let full = SecureVaultError.keystoreUpdateError(
            status: -25308, cause: KeyStoreError.unavailable(reason: "No space left on device"))
        #expect(full.isKeyStoreUnavailable)
        #expect(!full.description.contains("new key"))
    }

    @Test func `SQLite's result code is included, even through nested causes`() {
        let cause = SecureStorageError.backingStoreError(code: 19, message: "m")
        let error = SecureVaultError.initFailed(cause: SecureVaultError.databaseError(cause: cause))
        #expect(error.errorUserInfo["SQLiteResultCode"] as? NSNumber == 19)
        #expect(error.errorUserInfo[NSUnderlyingErrorKey] as? SecureStorageError == cause)
        let key = SecureVaultError.failedToOpenDatabase(
            cause: SecureStorageError.authenticationFailed(message: "m"))
        #expect(key.errorUserInfo["SQLiteResultCode"] as? NSNumber == 26)
        #expect(SecureVaultError.authRequired.errorUserInfo["SQLiteResultCode"] == nil)
    }

    @Test func `a locked key store is recognised through nested causes`() {
        let locked = SecureVaultError.keystoreReadError(status: -25308)
        #expect(locked.isKeyStoreUnavailable)
        #expect(SecureVaultError.initFailed(cause: locked).isKeyStoreUnavailable)
        #expect(!SecureVaultError.keystoreReadError(status: -25300).isKeyStoreUnavailable)
        #expect(!SecureVaultError.authRequired.isKeyStoreUnavailable)
    }
}
