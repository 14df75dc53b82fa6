import Foundation
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport

@testable import Vaults

/// Tests of the wait after wrong passwords of a vault in levels.
struct LevelTriesTests {
    private let folder: VaultFolder
    private let store = InMemoryKeyStore()
    private let clock = Locked(MachineMoment(uptime: 1_000_000, start: Data(count: 16)))

    private static let password = SecretBytes(utf8: "correct horse")
    private static let wrong = SecretBytes(utf8: "battery staple")

    init() throws { folder = try VaultFolder.make() }

    private func pass(seconds: Int64) {
        clock.withLock { $0 = MachineMoment(uptime: $0.uptime + seconds * 1000, start: $0.start) }
    }

    private func withLevels(
        _ store: (any KeyStore)? = nil, delay: Int = 60, _ body: (SecureVaultLevels) throws -> Void
    ) throws {
        func open(_ store: some KeyStore) throws {
            try folder.withVault(store, quick: true) { vault throws in
                let tries = LevelTries(
                    keystore: vault.providers.keystore, delay: RetryDelay(seconds: delay),
                    moment: { [clock] in clock.withLock { $0 } })
                try body(
                    SecureVaultLevels(vault.providers, tries, .seconds(60), SystemIdleClock()))
            }
        }
        if let store { try open(store) } else { try open(self.store) }
    }

    private func setPassword() throws {
        try withLevels {
            try $0.resetL2Password(oldPassword: nil, newPassword: Self.password)
        }
    }

    private func secondsToWait(
        _ levels: SecureVaultLevels, _ password: SecretBytes = Self.password
    ) -> Int? {
        do {
            try levels.authWith(password: password)
            return nil
        } catch SecureVaultError.mustWait(let seconds) {
            return seconds
        } catch {
            return 0
        }
    }

    @Test func `the third wrong password makes the next one wait, and each further one doubles it`()
        throws
    {
        defer { folder.remove() }
        try setPassword()
        try withLevels { levels throws in
            for _ in 0..<3 { check(secondsToWait(levels, Self.wrong), equals: 0) }
            // The right one is not tried either, and asking does not make it longer.
            check(secondsToWait(levels), equals: 60)
            check(secondsToWait(levels, Self.wrong), equals: 60)
            check(!levels.isL2Unlocked)
            pass(seconds: 59)
            check(secondsToWait(levels), equals: 1)
        }
        // In another process, too.
        try withLevels { levels throws in
            check(secondsToWait(levels), equals: 1)
            pass(seconds: 1)
            check(secondsToWait(levels, Self.wrong), equals: 0)
            check(secondsToWait(levels), equals: 120)
            pass(seconds: 120)
            check(secondsToWait(levels) == nil)
            check(levels.isL2Unlocked)
        }
        try check(!store.names().contains("SecureVault.l2-tries"))
        try withLevels { levels throws in
            for _ in 0..<3 { check(secondsToWait(levels, Self.wrong), equals: 0) }
            check(secondsToWait(levels), equals: 60)
        }
    }

    @Test func `every call that takes the password counts`() throws {
        defer { folder.remove() }
        try setPassword()
        try withLevels { levels throws in
            let calls: [() throws -> Void] = [
                { try levels.authWith(password: Self.wrong) },
                { try levels.withL3(password: Self.wrong) { _ in } },
                { try levels.resetL2Password(oldPassword: Self.wrong, newPassword: Self.wrong) },
                {
                    try levels.makeBackup(
                        at: folder.url.appendingPathComponent("backup"),
                        unlockedBy: [RecoveryCode.random()], password: Self.wrong)
                },
            ]
            for call in calls {
                for _ in 0..<3 { check(vaultError(call), equals: "invalidPassword") }
                for call in calls { check(vaultError(call), equals: "mustWait") }
                pass(seconds: 60)
                try levels.withL3(password: Self.password) { _ in }
            }
            for _ in 0..<3 { check(vaultError(calls[3]), equals: "invalidPassword") }
            pass(seconds: 60)
            try levels.resetL2Password(oldPassword: Self.password, newPassword: Self.wrong)
            check(secondsToWait(levels, Self.wrong) == nil)
        }
    }

    @Test func `the wait begins again when the machine is started`() throws {
        defer { folder.remove() }
        try setPassword()
        try withLevels { levels throws in
            for _ in 0..<3 { check(secondsToWait(levels, Self.wrong), equals: 0) }
            pass(seconds: 50)
            clock.withLock {
                $0 = MachineMoment(uptime: 5_000, start: Data(repeating: 1, count: 16))
            }
            check(secondsToWait(levels), equals: 55)
        }
    }

    @Test func `a generated password needs no try, and a right one inside a transaction works`()
        throws
    {
        defer { folder.remove() }
        try folder.withVault(store) { vault throws in
            let tries = LevelTries(
                keystore: vault.providers.keystore, delay: RetryDelay(seconds: 60))
            let levels = SecureVaultLevels(
                vault.providers, tries, .seconds(60), SystemIdleClock())
            _ = try levels.l2Encrypt(data: Data([1]))
            try levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
            try vault.providers.database.inDatabaseTransaction { _ in
                _ = try levels.l3Encrypt(data: Data([1]), password: Self.password)
            }
        }
    }

    @Test func `a password that could not be checked is not a try`() throws {
        defer { folder.remove() }
        try setPassword()
        try withLevels { levels throws in
            for _ in 0..<2 { check(secondsToWait(levels, Self.wrong), equals: 0) }
            let record = try store.read("SecureVault.l2-key")
            try store.remove("SecureVault.l2-key")
            for _ in 0..<3 {
                check(vaultError { try levels.authWith(password: Self.wrong) }, equals: "noL2Key")
            }
            try store.insert(record, forName: "SecureVault.l2-key")
            check(secondsToWait(levels, Self.wrong), equals: 0)
            check(secondsToWait(levels), equals: 60)
        }
    }

    @Test func `a password that could not be checked leaves the tries of others meanwhile`() throws
    {
        defer { folder.remove() }
        struct Unreadable: Error {}
        try folder.withVault(store, quick: true) { vault throws in
            let tries = LevelTries(
                keystore: vault.providers.keystore, delay: RetryDelay(seconds: 60),
                moment: { [clock] in clock.withLock { $0 } })
            func fail(_ check: () throws -> Void) throws {
                try tries.count({ try $0() }) {
                    try check()
                    throw Unreadable()
                }
            }
            func guess() throws {
                #expect(throws: SecureVaultError.self) {
                    try tries.count({ try $0() }) { throw SecureVaultError.invalidPassword }
                }
            }
            #expect(throws: Unreadable.self) { try fail {} }
            try check(tries.read().count, equals: 0)
            #expect(throws: Unreadable.self) { try fail(guess) }
            try check(tries.read().count, equals: 2)
        }
    }

    @Test func `no password is checked whose try cannot be stored`() throws {
        defer { folder.remove() }
        try setPassword()
        let full = StepKeyStore(store) { _ in
            throw KeyStoreError.unavailable(reason: "the disk is full")
        }
        try withLevels(full) { levels throws in
            check(
                vaultError { try levels.authWith(password: Self.password) },
                equals: "keystoreUpdateError")
            check(!levels.isL2Unlocked)
        }
        // Without a delay nothing is counted, so nothing is stored.
        try withLevels(full, delay: 0) { levels throws in
            for _ in 0..<5 { check(secondsToWait(levels, Self.wrong), equals: 0) }
            try levels.authWith(password: Self.password)
        }
    }

    @Test func `of many threads with wrong passwords, three get an answer`() async throws {
        defer { folder.remove() }
        try setPassword()
        let providers = try folder.factory(store, quick: true)
            .makeSecureStorageProviders(reporter: nil)
        defer { providers.database.db.close() }
        let levels = SecureVaultLevels(providers: providers, retryDelay: 60)
        let answers = await withTaskGroup(of: String?.self) { group in
            for _ in 0..<24 {
                group.addTask {
                    await Self.error { try await levels.authWith(password: Self.wrong) }
                }
            }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        check(answers.filter { $0 == "invalidPassword" }.count, equals: 3)
        check(answers.filter { $0 == "mustWait" }.count, equals: 21)
    }

    private static func error(_ body: () async throws -> Void) async -> String? {
        do {
            try await body()
            return nil
        } catch {
            return vaultError { throw error }
        }
    }

    @Test func `a damaged count names the entry, and the password is not checked`() throws {
        defer { folder.remove() }
        try setPassword()
        try store.store(SecretBytes(utf8: "x"), forName: "SecureVault.l2-tries")
        try withLevels { levels throws in
            do {
                try levels.authWith(password: Self.password)
                Issue.record("the count was ignored")
            } catch let error as SecureVaultError {
                check(error.description.contains("\"SecureVault.l2-tries\" is damaged"))
            }
        }
    }
}
