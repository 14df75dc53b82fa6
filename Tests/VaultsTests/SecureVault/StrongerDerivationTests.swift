import Foundation
import SecureStorage
import Testing

@testable import Vaults

/// A vault that was made when guesses cost less.
@Suite(.timeLimit(.minutes(10)))
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
            #expect(
                vaultError { try vault.levels.authWith(password: SecretBytes(utf8: "wrong")) }
                    == "invalidPassword")
            #expect(try derivation().parameters == .cheapest, "who is wrong raises nothing")
            try vault.levels.authWith(password: Self.password)
            #expect(try derivation().parameters == .default)
            #expect(try derivation().salt == salt)
            #expect(try vault.text(1) == "text")
            let records = try store.names().map { try store.read($0) }
            #expect(
                try vault.levels.l3Decrypt(data: l3, password: Self.password) == Data([1]))
            #expect(try store.names().map { try store.read($0) } == records)
        }
        // An app that asks for less leaves it.
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.levels.authWith(password: Self.password)
            #expect(try derivation().parameters == .default)
        }
    }

    @Test func `a generated password is raised, too`() throws {
        defer { folder.remove() }
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.store("a", "text")
        }
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            #expect(try vault.text(1) == "text")
            #expect(try derivation().parameters == .default)
        }
    }

    @Test(arguments: 0...4)
    func `a crash after any step of raising leaves a password that opens`(_ steps: Int) throws {
        defer { folder.remove() }
        _ = try makeWeakVault()
        let dying = StepKeyStore(store) { [store] in if $0 == steps + 1 { store.isLocked = true } }
        try folder.withVault(dying, quick: false, parameters: .default) { vault throws in
            // What cannot be raised now opens all the same.
            try vault.levels.authWith(password: Self.password)
            #expect(try vault.text(1) == "text")
        }
        store.isLocked = false
        // Two steps for each of two changes.
        #expect(try derivation().parameters == (steps < 3 ? .cheapest : .default))
        try folder.withVault(store, quick: false, parameters: .default) { vault throws in
            #expect(
                vaultError { try vault.levels.authWith(password: SecretBytes(utf8: "wrong")) }
                    == "invalidPassword")
            try vault.levels.authWith(password: Self.password)
            #expect(try vault.text(1) == "text")
            #expect(try derivation().parameters == .default)
        }
    }

    private func makeWeakVault() throws -> Data {
        try folder.withVault(store, quick: false, parameters: .cheapest) { vault throws in
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: Self.password)
            return try vault.levels.l3Encrypt(data: Data([1]), password: Self.password)
        }
    }

    private func derivation() throws -> PasswordDerivation {
        try PasswordDerivation(
            bytes: store.read("SecureVault.password-derivation").withUnsafeBytes { Data($0) })
    }
}
