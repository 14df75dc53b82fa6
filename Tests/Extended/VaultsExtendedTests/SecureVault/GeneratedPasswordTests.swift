import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// Tests of the password that is valid until the user sets one.
struct GeneratedPasswordTests {
    private let folder: VaultFolder
    private let store = InMemoryKeyStore()
    private static let entry = "SecureVault.generated-password"

    init() throws { folder = try VaultFolder.make() }

    @Test func `a lost one is reported as lost, not as a password that the user has to enter`()
        throws
    {
        defer { folder.remove() }
        try folder.withVault(store, quick: false) { try $0.store("a", "text") }
        let password = try store.read(Self.entry)
        try store.remove(Self.entry)
        try folder.withVault(store, quick: false) { vault throws in
            let calls: [() throws -> Void] = [
                { _ = try vault.text(1) },
                { _ = try vault.levels.requiresPassword() },
                {
                    try vault.levels.resetL2Password(
                        oldPassword: nil, newPassword: SecretBytes(utf8: "new"))
                },
            ]
            for call in calls {
                do {
                    try call()
                    Issue.record("the loss was not noticed")
                } catch let error as SecureVaultError {
                    check(error.description.contains(Self.entry))
                    check(error.description.contains("-25300"))
                    check(!error.isKeyStoreUnavailable)
                }
            }
            try store.insert(password, forName: Self.entry)
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `one that a crash left behind is not tried`() throws {
        defer { folder.remove() }
        try folder.withVault(store, quick: false) { try $0.store("a", "text") }
        let generated = try store.read(Self.entry)
        try folder.withVault(store, quick: false) { vault throws in
            try vault.levels.resetL2Password(
                oldPassword: nil, newPassword: SecretBytes(utf8: "new"))
        }
        try store.insert(generated, forName: Self.entry)
        try folder.withVault(store, quick: false) { vault throws in
            try check(vault.levels.requiresPassword())
            check(vaultError { _ = try vault.text(1) }, equals: "authRequired")
            try vault.levels.authWith(password: SecretBytes(utf8: "new"))
            try check(vault.text(1), equals: "text")
        }
        try check(!store.names().contains(Self.entry))
    }

    @Test func `a damaged record of L2's key is reported as damaged`() throws {
        defer { folder.remove() }
        try folder.withVault(store, quick: false) { try $0.store("a", "text") }
        let record = try store.read("SecureVault.l2-key").copied
        for position in [0, 5, 40, record.count - 1] {
            var damaged = record
            damaged[position] ^= 1
            try store.store(SecretBytes(copying: damaged), forName: "SecureVault.l2-key")
            try folder.withVault(store, quick: false) { vault throws in
                do {
                    _ = try vault.text(1)
                    Issue.record("the damage was not noticed")
                } catch let error as SecureVaultError {
                    check(error.description.contains("\"SecureVault.l2-key\" is damaged"))
                }
            }
        }
    }

    @Test func `what a level encrypts has a version, and is bound to the level`() throws {
        defer { folder.remove() }
        try folder.withVault(store, quick: false) { vault throws in
            let levels = vault.levels
            let password = try store.read(Self.entry)
            let data = try levels.withL2 { level throws in
                try level.encrypt(Data("text".utf8))
            }
            check(data.count == 4 + 41 && data.first == 1)
            try check(levels.l2Decrypt(data: data), equals: Data("text".utf8))
            check(
                vaultError { _ = try levels.l3Decrypt(data: data, password: password) },
                equals: "generalCryptoError")
            check(
                vaultError {
                    _ = try levels.l2Open(data, table: "t", column: "c", row: 1)
                }, equals: "generalCryptoError")
            for position in [0, 10, data.count - 1] {
                var changed = data
                changed[position] ^= 1
                check(
                    vaultError { _ = try levels.l2Decrypt(data: changed) },
                    equals: "generalCryptoError")
            }
        }
    }
}
