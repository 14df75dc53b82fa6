#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing
    import Vaults

    /// What of a secret is left in this process's memory after its last reference is gone.
    @Suite(.timeLimit(.minutes(10)))
    struct KeyStoreMemoryTests {
        private static let mask: UInt8 = 0x5a

        /// How often the bytes whose masked form is `masked` stand in what this process can write to.
        private static func count(_ masked: [UInt8]) throws -> Int {
            let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps"))
                .readToEnd()
            let memory = open("/proc/self/mem", O_RDONLY)
            try #require(memory >= 0)
            defer { close(memory) }
            var count = 0
            for line in String(decoding: maps ?? Data(), as: UTF8.self).split(separator: "\n") {
                let fields = line.split(separator: " ")
                let bounds = fields[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
                guard fields[1].hasPrefix("rw"), bounds.count == 2 else { continue }
                var position = bounds[0]
                let chunk = UnsafeMutableRawBufferPointer.allocate(
                    byteCount: 1 << 20, alignment: 16)
                defer {
                    chunk.initializeMemory(as: UInt8.self, repeating: 0)
                    chunk.deallocate()
                }
                while position < bounds[1] {
                    let length = min(chunk.count, Int(bounds[1] - position))
                    let read = pread(memory, chunk.baseAddress, length, off_t(position))
                    guard read > masked.count else { break }
                    var start = 0
                    while start <= read - masked.count {
                        guard let base = UnsafeRawPointer(chunk.baseAddress),
                            let found = memchr(base + start, Int32(masked[0] ^ mask), read - start)
                        else { break }
                        start =
                            chunk.baseAddress.map { UnsafeRawPointer(found) - UnsafeRawPointer($0) }
                            ?? read
                        if start <= read - masked.count,
                            masked.indices.allSatisfy({ chunk[start + $0] ^ mask == masked[$0] })
                        {
                            count += 1
                        }
                        start += 1
                    }
                    guard read == chunk.count else { break }
                    position += UInt64(read - masked.count + 1)
                }
            }
            return count
        }

        /// 24 bytes, masked, that stand for the secret; its base64 has the same length again and a third.
        private static let pattern: [UInt8] = (0..<24).map {
            UInt8(truncatingIfNeeded: 17 &+ $0 &* 41)
        }

        private static func secret() -> SecretBytes {
            SecretBytes(count: pattern.count) { bytes in
                for (index, byte) in pattern.enumerated() { bytes[index] = byte ^ mask }
            }
        }

        /// The base64 of the bytes, masked; computed bit by bit without ever standing in memory as it is.
        private static var maskedBase64: [UInt8] {
            let alphabet = Array(
                "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
            return stride(from: 0, to: pattern.count, by: 3).flatMap { start -> [UInt8] in
                let group = (0..<3).reduce(0) { $0 << 8 | Int(pattern[start + $1] ^ mask) }
                return [18, 12, 6, 0].map { alphabet[group >> $0 & 63] ^ mask }
            }
        }

        private static func useAndLook(at store: some KeyStore) throws {
            let base64 = maskedBase64
            do {
                let kept = secret()
                #expect(try count(pattern) > 0, "the search finds what is there")
                withExtendedLifetime(kept) {}
            }
            for round in 0..<3 {
                try store.store(secret(), forName: "k")
                #expect(try store.read("k").count == pattern.count)
                try store.store(secret(), forName: "k\(round)")
                #expect(try store.names().count == round + 2)
            }
            #expect(try count(pattern) == 0)
            #expect(try count(base64) == 0)
            let text = secret().withUnsafeBytes { Data($0).base64EncodedString() }
            #expect(try count(base64) > 0, "the search finds what is there")
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
