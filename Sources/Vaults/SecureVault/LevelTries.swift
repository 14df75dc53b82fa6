internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The wrong passwords of a vault, in an entry of its key store: "SSLT", the version 1, the number
/// in 32 bits, and the moment of the last one.
struct LevelTries: Sendable {
    let keystore: any SecureStorageKeyStoreProvider
    let delay: RetryDelay
    /// The moment, for the time between tries.
    var moment: @Sendable () -> MachineMoment = { .now }

    static let entryName = "l2-tries"
    private static let magic: StaticString = "SSLT"
    private static let length = 41

    /// Checks a password: counts the try, durably, before `check` runs, and forgets all tries after
    /// it.
    ///
    /// Without a delay, nothing is counted: a vault on a read-only disk opens all the same.
    ///
    /// - Throws: `SecureVaultError.mustWait`, and the error of `check`.
    func count<R>(
        _ exclusively: PasswordLevelKey.Exclusively, _ check: () throws -> R
    ) throws -> R {
        guard delay.seconds > 0 else { return try check() }
        var before = PasswordTries()
        var during = before
        try exclusively {
            let now = moment()
            before = try read()
            let seconds = before.secondsToWait(delay, at: now)
            guard seconds == 0 else { throw SecureVaultError.mustWait(seconds: seconds) }
            during = before
            during.begin(at: now)
            try store(during)
        }
        let result: R
        do {
            result = try check()
        } catch SecureVaultError.invalidPassword {
            throw SecureVaultError.invalidPassword
        } catch {
            // The password was not checked, so this was not a try. If that cannot be stored, it
            // remains one.
            try? exclusively { if try read() == during { try store(before) } }
            throw error
        }
        // The password is right even if this fails.
        try? exclusively { try store(PasswordTries()) }
        return result
    }

    func read() throws -> PasswordTries {
        guard
            let bytes = try keystore.readData(
                named: Self.entryName, serviceName: keystore.keychainServiceName)
        else { return PasswordTries() }
        return try keystore.record(in: bytes, named: Self.entryName) { bytes in
            var reader = try RecordFrame.open(
                bytes, Self.magic, version: 1, lengths: Self.length...Self.length)
            let count = try reader.integer(UInt32.self)
            let last = try PasswordTries.last(from: &reader)
            try reader.expectEnd()
            return PasswordTries(count: count, last: last)
        }
    }

    private func store(_ tries: PasswordTries) throws {
        guard tries.count > 0 else {
            return try keystore.removeData(
                named: Self.entryName, serviceName: keystore.keychainServiceName)
        }
        var writer = RecordFrame.begin(Self.magic, version: 1)
        writer.integer(tries.count)
        tries.writeLast(to: &writer)
        try keystore.writeData(
            RecordFrame.end(writer), named: Self.entryName,
            serviceName: keystore.keychainServiceName)
    }
}
