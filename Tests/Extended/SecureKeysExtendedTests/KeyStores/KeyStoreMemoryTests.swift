import TestSupport

#if os(Linux)
    import Foundation
    import SecureKeys
    import SecureStorage
    import Testing
    @testable import SecureKeysTests

    /// Tests of what remains of a secret in memory after its last reference is released.
    @Suite(.enabled(if: !Sanitizer.isPresent))
    struct KeyStoreMemoryTests {
        private static let length = 24

        /// Returns a byte of the secret, which is whole in memory only where a test puts it.
        private static func byte(_ index: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: 17 &+ index &* 41) ^ 0x33
        }

        private static func secret() -> SecretBytes {
            SecretBytes(count: length) { bytes in
                for index in bytes.indices { bytes[index] = byte(index) }
            }
        }

        private static let needle = Needle((0..<length).lazy.map { byte($0) })

        /// The needle for the base64 of the secret.
        private static var base64: Needle {
            let alphabet = Array(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            // Letter by letter: the whole string would itself be in memory.
            return Needle(
                (0..<length / 3 * 4).lazy.map { letter in
                    let start = letter / 4 * 3
                    let group = (0..<3).reduce(0) { $0 << 8 | Int(byte(start + $1)) }
                    return alphabet[group >> (18 - letter % 4 * 6) & 63]
                })
        }

        private static func useAndLook(at store: some KeyStore) throws {
            do {
                let kept = secret()
                try check(needle.countInProcess() > 0, "the search finds what is there")
                withExtendedLifetime(kept) {}
            }
            for round in 0..<3 {
                try store.store(secret(), forName: "k")
                try check(store.read("k").count, equals: length)
                try store.store(secret(), forName: "k\(round)")
                try check(store.names().count, equals: round + 2)
            }
            try check(needle.countInProcess(), equals: 0)
            try check(base64.countInProcess(), equals: 0)
            let text = secret().withUnsafeBytes { Data($0).base64EncodedString() }
            try check(base64.countInProcess() > 0, "the search finds what is there")
            withExtendedLifetime(text) {}
        }

        @Test func `a key file leaves no copy of a secret`() async throws {
            let folder = try KeyFolder()
            await #expect(processExitsWith: .success) { [path = folder.path as String] in
                try Self.useAndLook(at: FileKeyStore(directory: URL(fileURLWithPath: path)))
            }
        }

        @Test(.enabled(if: PrivateKeyring.isInstalled))
        func `the keyring leaves no copy of a secret`() async throws {
            let keyring = try PrivateKeyring.shared.get()
            await #expect(processExitsWith: .success) { [address = keyring.address as String] in
                PrivateKeyring.use(address)
                try Self.useAndLook(at: SecretServiceKeyStore(service: "memory \(UUID())"))
            }
        }
    }
#endif
