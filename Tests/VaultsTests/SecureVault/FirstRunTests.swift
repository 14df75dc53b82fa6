import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
import VaultsTestKit

/// Tests of the first run and of missing parts at later runs.
struct FirstRunTests {
    let folder: VaultFolder

    init() throws { folder = try VaultFolder.make() }

    @Test func `a vault is created once and opens at later starts without a password`() throws {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store) { try $0.store("a", "text") }
        let names = try store.names()
        check(
            names,
            equals: [
                "SecureVault.generated-password", "SecureVault.hashing-salt",
                "SecureVault.l1-key", "SecureVault.l2-key",
                "SecureVault.password-derivation",
            ])
        let secrets = try names.map { try store.read($0) }
        for _ in 0..<2 {
            try folder.withVault(store) { (vault: NoteVault) throws in
                try check(vault.titles(), equals: ["a"])
                try check(vault.text(1), equals: "text")
                try check(!vault.levels.requiresPassword())
            }
        }
        try check(names.map { try store.read($0) }, equals: secrets)
    }

    @Test func `one factory makes one vault, even for several threads`() async throws {
        defer { folder.remove() }
        let factory = folder.factory(try folder.store(), quick: true)
        let vaults = try await withThrowingTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<16 {
                group.addTask { ObjectIdentifier(try factory.makeVault(reporter: nil)) }
            }
            return try await group.reduce(into: Set()) { $0.insert($1) }
        }
        check(vaults.count, equals: 1)
    }

    @Test func `concurrent first runs all get the same keys`() async throws {
        defer { folder.remove() }
        for round in 0..<10 {
            let folder = VaultFolder(path: "\(folder.path)/\(round)")
            try FileManager.default.createDirectory(
                at: folder.url, withIntermediateDirectories: true)
            let store = try folder.store()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<6 {
                    group.addTask {
                        // Random delays make the runs meet at different steps.
                        let slow = StepKeyStore(store) { _ in usleep(.random(in: 0...5_000)) }
                        try folder.withVault(slow) { try $0.store("\(number)", "text") }
                    }
                }
                try await group.waitForAll()
            }
            try folder.withVault(store) { (vault: NoteVault) throws in
                try check(vault.titles().count, equals: 6)
                for id in 1...6 { try check(vault.text(Int64(id)), equals: "text") }
            }
            try check(store.names().count, equals: 5)
        }
    }

    @Test(arguments: [false, true])
    func `a complete first run between two steps of another one is not undone`(
        _ setsPassword: Bool
    ) throws {
        defer { folder.remove() }
        for step in 1...10 {
            let folder = VaultFolder(path: "\(folder.path)/\(step)")
            try FileManager.default.createDirectory(
                at: folder.url, withIntermediateDirectories: true)
            let store = try folder.store()
            let other: @Sendable () throws -> Void = {
                try folder.withVault(store) { vault in
                    try vault.store("a", "text")
                    guard setsPassword else { return }
                    try vault.levels.resetL2Password(oldPassword: nil, newPassword: Data([1]))
                }
            }
            let slow = StepKeyStore(store) { number in
                if number == step { #expect(throws: Never.self) { try other() } }
            }
            for keyStore in [slow, store] as [any KeyStore] {
                try folder.withVault(keyStore) { (vault: NoteVault) throws in
                    if setsPassword { try vault.levels.authWith(password: Data([1])) }
                    try check(vault.text(1), equals: "text", "step \(step)")
                }
            }
            try check(store.names().count, equals: (setsPassword ? 4 : 5), "step \(step)")
        }
    }

    @Test func `a missing device key is reported, and nothing is replaced`() throws {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store) { try $0.store("a", "text") }
        let key = try store.read("SecureVault.l1-key")
        try store.remove("SecureVault.l1-key")
        let (names, files) = (try store.names(), try folder.fileNames())
        let contents = try Data(contentsOf: folder.file)
        for _ in 0..<2 {
            check(vaultError { try folder.withVault(store) { _ in } }, equals: "noL1Key")
        }
        try check(store.names(), equals: names)
        try check(folder.fileNames(), equals: files)
        try check(Data(contentsOf: folder.file), equals: contents)
        try store.store(key, forName: "SecureVault.l1-key")
        try folder.withVault(store) { (vault: NoteVault) throws in
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `an empty key store beside a database is left empty`() throws {
        defer { folder.remove() }
        try folder.withVault(try folder.store()) { try $0.store("a", "text") }
        let other = InMemoryKeyStore()
        check(vaultError { try folder.withVault(other) { _ in } }, equals: "noL1Key")
        try check(other.names(), equals: [])
    }

    @Test func `a vault with a user's password but no device key is not taken for a new one`()
        throws
    {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store) {
            try $0.levels.resetL2Password(oldPassword: nil, newPassword: Data("pw".utf8))
        }
        try store.remove("SecureVault.l1-key")
        try FileManager.default.removeItem(at: folder.file)
        let names = try store.names()
        check(vaultError { try folder.withVault(store) { _ in } }, equals: "noL1Key")
        try check(store.names(), equals: names)
        check(!FileManager.default.fileExists(atPath: folder.file.path))
    }

    @Test func `a wrong key is not reported as damage and moves no file`() throws {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store) { try $0.store("a", "text") }
        let key = try store.read("SecureVault.l1-key")
        try store.store(.random(count: 32), forName: "SecureVault.l1-key")
        let files = try folder.fileNames()
        check(
            vaultError { try folder.withVault(store) { _ in } },
            equals: "failedToOpenDatabase.authenticationFailed")
        try check(folder.fileNames(), equals: files)
        try store.store(key, forName: "SecureVault.l1-key")
        try folder.withVault(store) { (vault: NoteVault) throws in
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `a damaged database is an error and is not moved or replaced`() throws {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store) { try $0.store("a", "text") }
        try Data("x".utf8).write(to: folder.file)
        let files = try folder.fileNames()
        check(
            vaultError { try folder.withVault(store) { _ in } },
            equals: "failedToOpenDatabase.openFailed")
        try check(folder.fileNames(), equals: files)
        try check(Data(contentsOf: folder.file), equals: Data("x".utf8))
    }

    @Test func `a missing salt is not reported as a wrong password and is not replaced`() throws {
        defer { folder.remove() }
        let store = try folder.store()
        try folder.withVault(store, quick: false) { (vault: NoteVault) throws in
            try vault.store("a", "text")
            let password = try require(vault.providers.keystore.generatedPassword())
            try folder.useBox(store, password: SecretBytes(copying: password))
        }
        try store.remove("SecureVault.password-derivation")
        let names = try store.names()
        try folder.withVault(store, quick: false) { (vault: NoteVault) throws in
            check(vaultError { _ = try vault.text(1) }, equals: "noL2Key")
            check(vaultError { try vault.levels.authWith(password: Data([1])) }, equals: "noL2Key")
        }
        try check(store.names(), equals: names)
    }

    @Test func `a hash is the same in the first run and in later ones`() throws {
        let store = InMemoryKeyStore()
        let first = try VaultCryptoProvider(keyStore: store).hashData(Data("value".utf8))
        let later = try VaultCryptoProvider(keyStore: store).hashData(Data("value".utf8))
        check(first != nil && first == later)
        let other = try VaultCryptoProvider(keyStore: InMemoryKeyStore())
            .hashData(Data("value".utf8))
        check(other != first)
        store.isLocked = true
        check(VaultCryptoProvider(keyStore: store).hashingSalt == nil)
        check(
            vaultError { _ = try VaultCryptoProvider(keyStore: store).hashData(Data()) },
            equals: "keystoreReadError")
    }

    @Test func `a failure is passed to the reporter and is not cached`() throws {
        defer { folder.remove() }
        final class Reporter: SecureVaultReporting, @unchecked Sendable {
            var errors: [SecureVaultError] = []
            func secureVaultError(_ error: SecureVaultError) { errors.append(error) }
        }
        let (reporter, store) = (Reporter(), InMemoryKeyStore())
        let factory = folder.factory(store, quick: true)
        store.isLocked = true
        check(
            vaultError { _ = try factory.makeVault(reporter: reporter) },
            equals: "keystoreReadError")
        check(reporter.errors.map(\.isKeyStoreUnavailable), equals: [true])
        store.isLocked = false
        try check(store.names(), equals: [], "nothing was created")
        let vault = try factory.makeVault(reporter: reporter)
        try check(factory.makeVault(reporter: nil) === vault)
        check(reporter.errors.count, equals: 1)
    }
}
