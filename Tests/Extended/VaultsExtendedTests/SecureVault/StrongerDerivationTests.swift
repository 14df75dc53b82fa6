import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// Tests of a vault that was made when guessing passwords was cheaper.
struct StrongerDerivationTests {
    let folder: VaultFolder
    let store = InMemoryKeyStore()

    static let password = SecretBytes(utf8: "correct horse")

    init() throws { folder = try VaultFolder.make() }

    @Test func `an unlock raises weak parameters once, and both levels open as before`() throws {
        defer { folder.remove() }
        let l3 = try makeWeakVault()
        let salt = try derivation().salt
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            check(
                vaultError { try vault.levels.authWith(password: SecretBytes(utf8: "wrong")) },
                equals: "invalidPassword")
            try check(derivation().parameters, equals: .cheapest, "a wrong password raises nothing")
            try vault.levels.authWith(password: Self.password)
            try check(derivation().parameters, equals: .default)
            try check(derivation().salt != salt)
            try check(vault.text(1), equals: "text")
            let record = try read("l2-key")
            try check(
                vault.levels.l3Decrypt(data: l3, password: Self.password), equals: Data([1]))
            try check(read("l2-key"), equals: record)
        }
        // An app that requests weaker parameters leaves them unchanged.
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.levels.authWith(password: Self.password)
            try check(derivation().parameters, equals: .default)
        }
    }

    @Test func `a generated password's parameters are raised, too`() throws {
        defer { folder.remove() }
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.store("a", "text")
        }
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            try check(vault.text(1), equals: "text")
            try check(derivation().parameters, equals: .default)
        }
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            try check(vault.text(1), equals: "text")
        }
    }

    @Test func `a box without a header becomes a record when it is unlocked`() throws {
        defer { folder.remove() }
        let l3 = try makeWeakVault()
        try folder.useBox(store, password: Self.password)
        let box = try read("l2-key")
        check(box.count, equals: 60)
        try folder.withVault(store, quick: false) { vault throws in
            check(
                vaultError { try vault.levels.authWith(password: SecretBytes(utf8: "wrong")) },
                equals: "invalidPassword")
            try check(read("l2-key"), equals: box)
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
            try check(derivation().parameters, equals: .cheapest)
            try check(
                vault.levels.l3Decrypt(data: l3, password: Self.password), equals: Data([1]))
        }
        // The key that an app derives is that of the record, and it opens the record.
        let crypto = VaultCryptoProvider(keyStore: store)
        let key = try Self.password.withData { try crypto.deriveKeyFromPassword($0) }
        try check(crypto.passwordSalt, equals: derivation().salt)
        try check(crypto.decrypt(read("l2-key").copied, withKey: key).count, equals: 32)
    }

    @Test func `each new password has a new salt, and no other entry is written`() throws {
        defer { folder.remove() }
        let store = store
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            var salts = [try derivation().salt]
            var old: SecretBytes?
            for text in ["first", "second"] {
                let new = SecretBytes(utf8: text)
                try vault.levels.resetL2Password(oldPassword: old, newPassword: new)
                salts.append(try derivation().salt)
                old = new
            }
            check(Set(salts).count, equals: 3)
            let names = ["hashing-salt", "l1-key", "l2-key"].map { "SecureVault." + $0 }
            try check(store.names(), equals: names)
        }
    }

    @Test func `a record that cannot be replaced still opens`() throws {
        defer { folder.remove() }
        _ = try makeWeakVault()
        let dying = StepKeyStore(store) { [store] in if $0 == 1 { store.isLocked = true } }
        try folder.withVault(dying, quick: false, parameters: .default) { vault throws in
            // The vault opens even though its parameters cannot be raised now.
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
        }
        store.isLocked = false
        try check(derivation().parameters, equals: .cheapest)
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            try vault.levels.authWith(password: Self.password)
            try check(vault.text(1), equals: "text")
            try check(derivation().parameters, equals: .default)
        }
    }

    @Test
    func `a concurrent password change with old parameters by another process still works`()
        throws
    {
        defer { folder.remove() }
        _ = try makeWeakVault()
        let new = SecretBytes(utf8: "battery staple")
        try folder.withVault(store, quick: false, parameters: .cheapest) { other throws in
            // As in the reference's code: nothing is checked again before it is stored.
            let key = PasswordLevelKey(
                crypto: other.providers.crypto, keystore: other.providers.keystore)
            let root = try key.unwrap(with: Self.password).key
            let wrapping = try new.withData { try other.providers.crypto.deriveKeyFromPassword($0) }
            other.providers.database.db.close()
            try folder.withVault(store, quick: false, parameters: .default) { vault throws in
                try vault.levels.authWith(password: Self.password)
                try check(derivation().parameters, equals: .default)
                // Derives with the new salt, so that the old one becomes the previous one.
                _ = try Self.password.withData {
                    try vault.providers.crypto.deriveKeyFromPassword($0)
                }
            }
            try other.providers.keystore.storeEncryptedL2Key(
                root.withData { try other.providers.crypto.encrypt($0, withKey: wrapping) })
        }
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            check(
                vaultError { try vault.levels.authWith(password: Self.password) },
                equals: "invalidPassword")
            try vault.levels.authWith(password: new)
            try check(vault.text(1), equals: "text")
            vault.levels.lock()
            try vault.levels.authWith(password: new)
        }
    }

    @Test
    func `of two concurrent password changes, the later one detects the conflict`()
        throws
    {
        defer { folder.remove() }
        _ = try makeWeakVault()
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            let key = PasswordLevelKey(
                crypto: vault.providers.crypto, keystore: vault.providers.keystore)
            let opened = try key.unwrap(with: Self.password)
            let second = try key.wrapped(opened.key, with: SecretBytes(utf8: "second"))
            try vault.levels.resetL2Password(
                oldPassword: Self.password, newPassword: SecretBytes(utf8: "first"))
            #expect(throws: PasswordLevelKey.Conflict.self) {
                try key.replace(opened.record, with: second) { try $0() }
            }
            try vault.levels.authWith(password: SecretBytes(utf8: "first"))
        }
    }

    private func read(_ name: String) throws -> SecretBytes {
        try store.read("SecureVault." + name)
    }

    private func makeWeakVault() throws -> Data {
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
            return try vault.levels.l3Encrypt(data: Data([1]), password: Self.password)
        }
    }

    private func derivation() throws -> PasswordDerivation {
        let record = try WrappedKey(bytes: read("l2-key").copied)
        return try require(PasswordDerivation(of: record))
    }
}
