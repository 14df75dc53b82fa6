import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults

struct SecureVaultErrorTests {
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
        check(Self.all.map(\.errorCode), equals: Array(1...15))
        check(SecureVaultError.errorDomain, equals: "SecureVaultError")
    }

    @Test(
        arguments: [
            (-25299, "the entry already exists (-25299)"), (-25293, "it refused access"),
            (-26275, "an entry is damaged"), (-25298, "status -25298"),
        ] as [(Int32, String)])
    func `a keychain's status is explained in words`(_ status: Int32, _ text: String) {
        for error in [
            SecureVaultError.keystoreReadError(status: status),
            .keystoreUpdateError(status: status),
        ] {
            check(error.description.contains(": " + text), "\(error)")
        }
    }

    @Test func `an error says what to do and prints nothing of a foreign cause`() {
        for error in Self.all {
            var dumped = ""
            dump(error, to: &dumped)
            for text in [
                error.description, error.localizedDescription, String(reflecting: error), dumped,
            ] {
                check(!text.contains("hunter2"))
                check(!text.isEmpty)
            }
            check(error.description.first?.isLowercase, equals: true)
        }
    }

    @Test func `an error of the key store says which entry, and why`() {
        let damaged = KeyStoreError.damaged(name: "SecureVault.l2-key", reason: "cut off: \"/k\"")
        let error = SecureVaultError.keystoreReadError(status: -26275, cause: damaged)
        check(error.cause as? KeyStoreError, equals: damaged)
        check(error.description.contains("\"SecureVault.l2-key\" is damaged: cut off: \"/k\""))
        let full = SecureVaultError.keystoreUpdateError(
            status: -25308, cause: KeyStoreError.unavailable(reason: "No space left on device"))
        check(full.isKeyStoreUnavailable)
        check(!full.description.contains("new key"))
    }

    @Test func `SQLite's result code is included, even through nested causes`() {
        let cause = SecureStorageError.backingStoreError(code: 19, message: "m")
        let error = SecureVaultError.initFailed(cause: SecureVaultError.databaseError(cause: cause))
        check(error.errorUserInfo["SQLiteResultCode"] as? NSNumber, equals: 19)
        check(error.errorUserInfo[NSUnderlyingErrorKey] as? SecureStorageError, equals: cause)
        let key = SecureVaultError.failedToOpenDatabase(
            cause: SecureStorageError.authenticationFailed(message: "m"))
        check(key.errorUserInfo["SQLiteResultCode"] as? NSNumber, equals: 26)
        check(SecureVaultError.authRequired.errorUserInfo["SQLiteResultCode"] == nil)
    }

    @Test func `a locked key store is recognised through nested causes`() {
        let locked = SecureVaultError.keystoreReadError(status: -25308)
        check(locked.isKeyStoreUnavailable)
        check(SecureVaultError.initFailed(cause: locked).isKeyStoreUnavailable)
        check(!SecureVaultError.keystoreReadError(status: -25300).isKeyStoreUnavailable)
        check(!SecureVaultError.authRequired.isKeyStoreUnavailable)
    }
}
