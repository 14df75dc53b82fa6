import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
import VaultsTestKit

struct SecureVaultLevelsTests {
    let folder: VaultFolder
    let store = InMemoryKeyStore()
    let clock = ManualClock()

    init() throws { folder = try VaultFolder.make() }

    static let password = Data("correct horse".utf8)
    static let secret = SecretBytes(copying: password)

    /// Runs `body` on a vault with one note after the user has set a password.
    private func withVault(_ body: (NoteVault) throws -> Void) throws {
        defer { folder.remove() }
        try folder.withVault(store, clock: clock) { (vault: NoteVault) throws in
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
            try body(vault)
        }
    }

    @Test func `a password is valid for three days after it is entered`() throws {
        try withVault { (vault: NoteVault) throws in
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            try check(vault.levels.requiresPassword())
            try vault.levels.authWith(password: Self.password)
            for _ in 0..<2 {
                clock.advance(by: .seconds(3 * 86_400 / 2 - 1))
                try check(vault.text(1), equals: "text")
                try check(!vault.levels.requiresPassword())
            }
            clock.advance(by: .seconds(2))
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            check(vaultError { try vault.store("b", "text") }, equals: "authRequired")
            try check(vault.titles(), equals: ["a"], "the transaction was rolled back")
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `a wrong password is distinguished from every other error and changes nothing`()
        throws
    {
        try withVault { (vault: NoteVault) throws in
            let wrong = [Data(), Data("x".utf8), Self.password + [0], Data(count: 100_000)]
            for password in wrong {
                check(
                    vaultError { try vault.levels.authWith(password: password) },
                    equals: "invalidPassword")
                check(!vault.levels.isL2Unlocked)
            }
            try vault.levels.authWith(password: Self.password)
            for password in wrong {
                check(
                    vaultError { try vault.levels.authWith(password: password) },
                    equals: "invalidPassword")
                check(
                    vaultError {
                        try vault.levels.resetL2Password(
                            oldPassword: nil as Data?, newPassword: password)
                    }, equals: "invalidPassword")
                check(
                    vaultError {
                        try vault.levels.resetL2Password(
                            oldPassword: password, newPassword: Data("y".utf8))
                    }, equals: "invalidPassword")
            }
            check(
                vaultError {
                    try vault.levels.resetL2Password(
                        oldPassword: Self.password, newPassword: Data())
                }, equals: "invalidPassword")
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `a new password opens everything that the old one sealed`() throws {
        try withVault { (vault: NoteVault) throws in
            let l3 = try vault.levels.l3Encrypt(data: Data([1, 2]), password: Self.secret)
            try vault.levels.authWith(password: Self.password)
            let l2 = try vault.levels.l2Encrypt(data: Data([3]))
            let new = SecretBytes(utf8: "new")
            try vault.levels.resetL2Password(oldPassword: Self.secret, newPassword: new)
            check(
                vaultError { try vault.levels.authWith(password: Self.password) },
                equals: "invalidPassword")
            try vault.levels.authWith(password: new)
            try check(vault.text(1), equals: "text")
            try check(vault.levels.l2Decrypt(data: l2), equals: Data([3]))
            try check(vault.levels.l3Decrypt(data: l3, password: new), equals: Data([1, 2]))
        }
    }

    @Test func `L3 needs the password each time, whatever the state of L2, and has its own key`()
        throws
    {
        try withVault { (vault: NoteVault) throws in
            let sealed = try vault.levels.withL3(password: Self.secret) {
                try $0.seal(Data("4111".utf8), table: "card", column: "number", row: 1)
            }
            check(!vault.levels.isL2Unlocked)
            try vault.levels.authWith(password: Self.password)
            check(
                vaultError {
                    try vault.levels.withL3(password: SecretBytes(utf8: "x")) { _ in }
                }, equals: "invalidPassword")
            check(
                vaultError {
                    _ = try vault.levels.l2Open(
                        sealed, table: "card", column: "number", row: 1)
                }, equals: "generalCryptoError")
            let opened = try vault.levels.withL3(password: Self.secret) {
                try $0.openSecret(sealed, table: "card", column: "number", row: 1)
            }
            check(opened, equals: SecretBytes(utf8: "4111"))
            var kept: SecureVaultLevel?
            try vault.levels.withL3(password: Self.secret) { kept = $0 }
            check(vaultError { _ = try kept?.encrypt(Data()) }, equals: "authRequired")
        }
    }

    @Test func `a value that was moved or modified does not open`() throws {
        try withVault { (vault: NoteVault) throws in
            try vault.levels.authWith(password: Self.password)
            let sealed = try vault.levels.l2Seal(
                Data("v".utf8), table: "t", column: "c", row: 1)
            let places: [(String, String, RowIdentity)] = [
                ("u", "c", 1), ("t", "d", 1), ("t", "c", 2), ("t", "c", "1"),
            ]
            for (table, column, row) in places {
                check(
                    vaultError {
                        _ = try vault.levels.l2Open(
                            sealed, table: table, column: column, row: row)
                    }, equals: "generalCryptoError")
            }
            let encrypted = try vault.levels.l2Encrypt(data: Data("v".utf8))
            for index in encrypted.indices {
                var changed = encrypted
                changed[index] ^= 1
                check(
                    vaultError { _ = try vault.levels.l2Decrypt(data: changed) },
                    equals: "generalCryptoError")
            }
            for length in [0, 1, 27] {
                check(
                    vaultError { _ = try vault.levels.l2Decrypt(data: Data(count: length)) },
                    equals: "generalCryptoError")
            }
        }
    }

    @Test func `a locked key store blocks only calls that need it, and nothing is replaced`() throws
    {
        try withVault { (vault: NoteVault) throws in
            let secrets = try store.names().map { try store.read($0) }
            store.isLocked = true
            try check(vault.titles(), equals: ["a"])
            for body: () throws -> Void in [
                { _ = try vault.text(1) },
                { try vault.levels.authWith(password: Self.password) },
                {
                    try vault.levels.resetL2Password(
                        oldPassword: Self.password, newPassword: Data([1]))
                },
                { try vault.levels.withL3(password: Self.secret) { _ in } },
            ] {
                #expect(throws: SecureVaultError.self) { try body() }
                do { try body() } catch let error as SecureVaultError {
                    // A vault that knows its user has a password asks for it without the key store.
                    check(error.isKeyStoreUnavailable || error.errorCode == 2)
                }
            }
            store.isLocked = false
            try vault.levels.authWith(password: Self.password)
            store.isLocked = true
            try check(vault.text(1), equals: "text", "its key is in memory")
            store.isLocked = false
            try check(store.names().map { try store.read($0) }, equals: secrets)
        }
    }

    @Test func `L2 with a generated password reports a locked key store`() throws {
        defer { folder.remove() }
        try folder.withVault(store) { try $0.store("a", "text") }
        try folder.withVault(store) { (vault: NoteVault) throws in
            store.isLocked = true
            check(vaultError { _ = try vault.text(1) }, equals: "keystoreReadError")
            store.isLocked = false
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `locking ends access immediately`() throws {
        try withVault { vault in
            try vault.levels.authWith(password: Self.password)
            vault.levels.lock()
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            try vault.levels.authWith(password: Self.password)
            try vault.levels.withL2 { level in
                vault.levels.lock()
                check(vaultError { _ = try level.encrypt(Data()) }, equals: "authRequired")
            }
        }
    }

    @Test func `a password that is being checked or waiting to be checked does not undo a lock`()
        async throws
    {
        defer { folder.remove() }
        let gate = GatedCryptoProvider(NoOpCryptoProvider())
        let folder = folder
        let providers = SecureStorageProviders(
            crypto: gate, database: try folder.database(), keystore: MockKeyStoreProvider())
        try providers.keystore.storeEncryptedL2Key(Data(repeating: 1, count: 32))
        let levels = SecureVaultLevels(providers: providers)
        gate.isOpen = false
        async let errors = withTaskGroup(of: String?.self) { group in
            for _ in 0..<2 {
                group.addTask {
                    await Self.onThread {
                        vaultError { try levels.authWith(password: Self.password) }
                    }
                }
            }
            return await group.reduce(into: [String?]()) { $0.append($1) }
        }
        while gate.waiting == 0 { try await Task.sleep(for: .milliseconds(5)) }
        // By now the other one is waiting in line.
        try await Task.sleep(for: .milliseconds(200))
        levels.lock()
        gate.isOpen = true
        await check(errors, equals: ["authRequired", "authRequired"])
        check(!levels.isL2Unlocked)
        try await levels.authWith(password: Self.password)
        check(levels.isL2Unlocked)
    }

    /// Runs `body` on a separate thread, because Swift's own threads must not block.
    private static func onThread<R: Sendable>(_ body: @escaping @Sendable () -> R) async -> R {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { continuation.resume(returning: body()) }
        }
    }

    @Test func `a generated password left by a crash is ignored, then removed`() throws {
        let name = "SecureVault.generated-password"
        defer { folder.remove() }
        try folder.withVault(store) { (vault: NoteVault) throws in
            try vault.store("a", "text")
            let generated = try store.read(name)
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
            try store.store(generated, forName: name)
        }
        try folder.withVault(store) { (vault: NoteVault) throws in
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            check(
                vaultError {
                    try vault.levels.resetL2Password(
                        oldPassword: nil as Data?, newPassword: Data([1]))
                }, equals: "invalidPassword")
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
            try check(!store.names().contains(name))
        }
    }

    @Test
    func `a transaction that uses L2 and a password change do not deadlock`()
        throws
    {
        defer { folder.remove() }
        try folder.withVault(store) { (vault: NoteVault) throws in
            try vault.store("a", "text")
            vault.levels.lock()
            let (inside, ended) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
            Thread.detachNewThread {
                try? vault.providers.database.inDatabaseTransaction { _ in
                    inside.signal()
                    // Until the other thread waits for the database.
                    usleep(300_000)
                    _ = try? vault.levels.l2Encrypt(data: Data([1]))
                }
                ended.signal()
            }
            inside.wait()
            Thread.detachNewThread {
                try? vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
                ended.signal()
            }
            for _ in 0..<2 { check(ended.wait(timeout: .now() + 60), equals: .success) }
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `16 threads read while the password changes, and none gets wrong data`() async throws
    {
        defer { folder.remove() }
        let (store, folder) = (store, folder)
        let providers = try folder.factory(store, quick: true).makeSecureStorageProviders(
            reporter: nil)
        defer { providers.database.db.close() }
        let vault = NoteVault(providers: providers)
        try vault.store("a", "text")
        try await vault.levels.resetL2Password(oldPassword: nil, newPassword: Data([0]))
        let sealed = try await vault.levels.withL3(password: SecretBytes(copying: Data([0]))) {
            try $0.encrypt(Data("card".utf8))
        }
        let reads = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<15 {
                group.addTask {
                    var reads = 0
                    for _ in 0..<200 {
                        do {
                            let text = try vault.text(1)
                            check(text, equals: "text")
                            reads += 1
                        } catch SecureVaultError.authRequired {
                            await Task.yield()
                        }
                    }
                    return reads
                }
            }
            group.addTask {
                for number in 0..<UInt8(100) {
                    try vault.levels.authWith(password: Data([number]))
                    try check(
                        vault.levels.l3Decrypt(
                            data: sealed, password: SecretBytes(copying: Data([number]))),
                        equals: Data("card".utf8))
                    if number % 3 == 0 { vault.levels.lock() }
                    try vault.levels.resetL2Password(
                        oldPassword: Data([number]), newPassword: Data([number + 1]))
                    try vault.levels.authWith(password: Data([number + 1]))
                }
                return 0
            }
            return try await group.reduce(0, +)
        }
        check(reads > 0)
        try check(vault.text(1), equals: "text")
    }
}
