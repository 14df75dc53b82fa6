import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import SecureKeys
    @testable import Vaults
    @testable import VaultsTests

    /// Tests of what remains of a vault's password and keys in memory, each in a separate process.
    @Suite(.enabled(if: !Sanitizer.isPresent))
    struct SecureVaultMemoryTests {
        @Test func `after locking, neither the password nor a key of L2 or L3 is in memory`() async
        {
            await #expect(processExitsWith: .success) {
                let folder = try VaultFolder.make()
                defer { folder.remove() }
                let store = try folder.store()
                try folder.withVault(store, quick: false) { (vault: NoteVault) throws in
                    let needles = try Leftovers.use(vault)
                    vault.levels.lock()
                    for (number, needle) in needles.enumerated() {
                        try check(needle.countInProcess(), equals: 0, "needle \(number)")
                    }
                }
            }
        }

        @Test func `a generated password leaves nothing in memory either`() async {
            await #expect(processExitsWith: .success) {
                let folder = try VaultFolder.make()
                defer { folder.remove() }
                let store = try folder.store()
                try folder.withVault(store, quick: false) { (vault: NoteVault) throws in
                    try vault.store("a", "text")
                    let needles = try Leftovers.generated(vault)
                    vault.levels.lock()
                    for (number, needle) in needles.enumerated() {
                        try check(needle.countInProcess(), equals: 0, "needle \(number)")
                    }
                }
            }
        }

        @Test func `an expired Data is overwritten`() async {
            await #expect(processExitsWith: .success) {
                let value = ExpiringValue<Data>(expiresAfter: 0.2)
                // Run once beforehand: the first call of a function goes through the dynamic
                // linker, which saves the vector registers on the stack, and with them the bytes
                // that were copied last.
                value.value = Data(repeating: 7, count: 40)
                value.value = nil
                let needle = try Leftovers.random { value.value = $0 }
                try check(needle.countInProcess() > 0)
                try await Task.sleep(for: .seconds(1))
                let left = try needle.countInProcess()
                check(left, equals: 0)
                check(value.value == nil)
            }
        }
    }

    /// Separate functions, so that their local values are released.
    private enum Leftovers {
        static func random(_ body: (Data) -> Void) throws -> Needle {
            let secret = SecretBytes.random(count: 40)
            body(secret.withUnsafeBytes { Data($0) })
            return needle(secret)
        }

        static func use(_ vault: NoteVault) throws -> [Needle] {
            let (first, second) = (typed(), typed())
            try vault.store("a", "text")
            try vault.levels.resetL2Password(oldPassword: nil, newPassword: first)
            try vault.levels.resetL2Password(oldPassword: first, newPassword: second)
            try vault.levels.authWith(password: second)
            let encrypted = try vault.levels.l2Encrypt(data: Data([1]))
            _ = try vault.levels.l2Decrypt(data: encrypted)
            let card = try vault.levels.l3Encrypt(data: Data([2]), password: second)
            _ = try vault.levels.l3Decrypt(data: card, password: second)
            _ = try vault.text(1)
            try expectFound([needle(second)])
            return try keys(of: vault, password: second) + [needle(first), needle(second)]
        }

        static func generated(_ vault: NoteVault) throws -> [Needle] {
            var data = try require(vault.providers.keystore.generatedPassword())
            let password = SecretBytes(erasing: &data)
            _ = try vault.text(1)
            try expectFound([needle(password)])
            return try keys(of: vault, password: password) + [needle(password)]
        }

        /// Returns the root key, the keys of L2 and L3 and those derived from them, and checks that
        /// the search finds L2's.
        private static func keys(of vault: NoteVault, password: SecretBytes) throws -> [Needle] {
            let key = PasswordLevelKey(
                crypto: vault.providers.crypto, keystore: vault.providers.keystore)
            let root = try key.unwrap(with: password).key
            let top = try DataEncryptionKey(name: "SecureVault", bytes: root)
            defer { top.clear() }
            var needles = [needle(root)]
            for level in ["L2", "L3"] {
                let bytes = try top.derivedKey(for: level)
                let derived = try DataEncryptionKey(name: level, bytes: bytes)
                defer { derived.clear() }
                needles.append(needle(bytes))
                needles.append(needle(try derived.derivedKey(for: "encrypt")))
                needles.append(needle(try derived.subkey("values")))
            }
            var wrapping = try password.withData {
                try vault.providers.crypto.deriveKeyFromPassword($0)
            }
            needles.append(needle(wrapping))
            wrapping.erase()
            try expectFound([needles[1]])
            return needles
        }

        private static func typed() -> SecretBytes {
            SecretBytes(count: 24) { bytes in
                for index in bytes.indices { bytes[index] = .random(in: 97...122) }
            }
        }

        /// Returns a needle without the first 16 bytes, which malloc uses in a freed block.
        private static func needle(_ secret: some ContiguousBytes) -> Needle {
            secret.withUnsafeBytes { Needle($0.dropFirst(16)) }
        }

        /// Throws if a needle is not found: the search would then prove nothing.
        private static func expectFound(_ needles: [Needle]) throws {
            for needle in needles where try needle.countInProcess() == 0 {
                throw CocoaError(.featureUnsupported)
            }
        }
    }
#endif
