import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import Vaults
    @testable import VaultsTests

    /// Tests of what remains of a data vault's values, password and keys in memory, each in a
    /// separate process.
    @Suite(.enabled(if: !Sanitizer.isPresent))
    struct DataVaultMemoryTests {
        let home: VaultHome

        init() throws {
            home = try VaultHome()
            try Letters.fill(home)
        }

        @Test func `after a lock, no value is in memory, be it read or stored next to one`() async {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let vault = try VaultHome(path: path).container().vault(id: "a")
                var used: [Int: Int] = [:]
                try Letters.read(vault, counting: &used)
                // The search finds values stored nearby while the vault is unlocked.
                check(used.values.reduce(0, +) > 20)
                vault.lock()
                for index in 0..<Letters.count {
                    try check(Letters.needle(index).countInProcess(), equals: 0, "value \(index)")
                }
                try check(Letters.needle(Letters.blob).countInProcess(), equals: 0, "blob")
            }
        }

        @Test func `after a lock, neither values that were set nor removed are in memory`() async {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let vault = try VaultHome(path: path).container().vault(id: "a")
                try Letters.write(vault)
                vault.lock()
                for index in [Letters.blob, 501, 502, 3] {
                    try check(Letters.needle(index).countInProcess(), equals: 0, "value \(index)")
                }
            }
        }

        @Test func `after a lock, neither the password nor a key is in memory`() async {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                let vault = try VaultHome(path: path).realContainer().vault(id: "b")
                let needles = try Letters.unlock(vault)
                for needle in needles { try check(needle.countInProcess() > 0) }
                vault.lock()
                let password = Letters.needle(Letters.password)
                for needle in needles + [password] { try check(needle.countInProcess(), equals: 0) }
            }
        }
    }

    /// Values that a number determines: they exist in memory only where the vault puts them.
    private enum Letters {
        static let count = 60
        static let blob = 1000
        static let password = 2000

        static func bytes(_ index: Int) -> some Collection<UInt8> {
            let length = index == blob ? 30_000 : 48
            return (0..<length).lazy.map { place in
                var generator = SplitMix64(seed: UInt64(index) << 32 | UInt64(place))
                return UInt8(97 + generator.next() % 26)
            }
        }

        static func secret(_ index: Int) -> SecretBytes {
            let bytes = bytes(index)
            return SecretBytes(count: bytes.count) { memory in
                for (place, byte) in bytes.enumerated() { memory[place] = byte }
            }
        }

        /// Without the first 16 bytes, which malloc uses in a freed block; of the blob, a part.
        static func needle(_ index: Int) -> Needle {
            index == blob
                ? Needle(bytes(index).dropFirst(9000).prefix(40))
                : Needle(bytes(index).dropFirst(16))
        }

        static func fill(_ home: VaultHome) throws {
            let vault = try home.container().create(id: "a", password: "")
            for index in 0..<count { try vault.setSecret("name \(index)", value: secret(index)) }
            try vault.setSecret("blob", value: secret(blob))
            vault.lock()
            let other = try home.realContainer().create(id: "b", password: secret(password))
            try other.setSecret("one", value: secret(1))
            other.lock()
        }

        static func read(_ vault: DataVault, counting used: inout [Int: Int]) throws {
            try vault.unlock(password: "")
            let one = try vault.getSecret("name 7")
            let large = try vault.getSecret("blob")
            try withExtendedLifetime((one, large)) {
                for index in 0..<count { used[index] = try needle(index).countInProcess() }
                guard try needle(blob).countInProcess() > 0, one == secret(7), large == secret(blob)
                else { throw CocoaError(.featureUnsupported) }
            }
        }

        static func write(_ vault: DataVault) throws {
            try vault.unlock(password: "")
            try vault.setSecret("blob", value: secret(blob))
            for index in 501...502 { try vault.setSecret("name \(index)", value: secret(index)) }
            try vault.deleteValue("name 3")
            try vault.deleteValue("name 502")
            guard try needle(501).countInProcess() > 0 else {
                throw CocoaError(.featureUnsupported)
            }
        }

        static func unlock(_ vault: DataVault) throws -> [Needle] {
            try vault.unlock(password: secret(password))
            _ = try vault.getSecret("one")
            _ = try vault.encrypt(Data([1]))
            return try vault.withOpened { opened in
                try [
                    opened.key.material.secret(), opened.encryption.present.material.secret(),
                    opened.key.derivedKey(for: "datavault database 1"),
                ].map { $0.withUnsafeBytes { Needle($0.dropFirst(16)) } }
            }
        }
    }
#endif
