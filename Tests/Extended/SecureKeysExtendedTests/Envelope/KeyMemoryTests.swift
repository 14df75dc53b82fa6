import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import SecureKeys
    @testable import SecureKeysTests

    /// What remains of keys in the memory of the process; each test runs in a separate process.
    @Suite(.enabled(if: !Sanitizer.isPresent)) struct KeyMemoryTests {
        @Test
        func `after clear, no data, wrapping or value key is in memory, and no opened secret`()
            async
        {
            await #expect(processExitsWith: .success) {
                try Leftovers.expectNone(try Leftovers.wrapAndSeal())
            }
        }

        @Test func `after an unlock with a password, neither it nor its key is in memory`() async {
            await #expect(processExitsWith: .success) {
                try Leftovers.expectNone(try Leftovers.unlockWithPassword())
            }
        }

        @Test func `after an unlock with a recovery code, neither it nor its key is in memory`()
            async
        {
            await #expect(processExitsWith: .success) {
                try Leftovers.expectNone(try Leftovers.unlockWithCode())
            }
        }

        @Test
        func `after sealing and opening a stream, neither its key nor the data key is in memory`()
            async
        {
            await #expect(processExitsWith: .success) {
                try Leftovers.expectNone(try Leftovers.stream())
            }
        }

        @Test func `a key dropped by its holder is not in memory`() async {
            await #expect(processExitsWith: .success) {
                try Leftovers.expectNone(try Leftovers.hold())
            }
        }
    }

    extension Needle {
        fileprivate init(of secret: some ContiguousBytes) {
            self = secret.withUnsafeBytes { Needle($0) }
        }

        /// Returns needles for the secret, and for the two padded forms of it that HMAC hashes.
        fileprivate static func all(of secret: some ContiguousBytes) -> [Needle] {
            [0, 0x36, 0x5c].map { mask in
                secret.withUnsafeBytes { bytes in Needle(bytes.lazy.map { $0 ^ mask }) }
            }
        }
    }

    /// The work whose leftovers are searched for, in separate functions so that their locals are
    /// released.
    private enum Leftovers {
        static func wrapAndSeal() throws -> [Needle] {
            let data = try DataEncryptionKey.random(name: "data")
            let device = try KeyEncryptionKey.random(name: "device")
            var needles = try Needle.all(of: data.material.secret())
            needles += try Needle.all(of: device.secret())
            needles.append(Needle(of: try data.subkey("values")))
            let set = try WrappedKeySet(bytes: WrappedKeySet(wrapping: data, with: device).bytes)
            let again = try set.unwrap(with: device)
            for row in 0..<20 {
                let row = RowIdentity.integer(Int64(row))
                let sealed = try data.seal(Data([1]), table: "t", column: "c", row: row)
                _ = try again.open(sealed, table: "t", column: "c", row: row)
                _ = try? again.open(sealed, table: "t", column: "d", row: row)
            }
            let secret = SecretBytes.random(count: 40)
            needles.append(Needle(of: secret))
            let sealed = try data.seal(secret, table: "t", column: "c", row: 1)
            let opened = try again.openSecret(sealed, table: "t", column: "c", row: 1)
            try withExtendedLifetime((secret, opened)) {
                try expectFound(needles[0], needles[3], needles[6], needles[7])
            }
            data.clear()
            again.clear()
            device.clear()
            return needles
        }

        static func unlockWithPassword() throws -> [Needle] {
            let secret = SecretBytes(count: 24) { bytes in
                for index in bytes.indices { bytes[index] = .random(in: 97...122) }
            }
            let password = try PasswordKey(secret, parameters: .cheapest)
            let data = try DataEncryptionKey.random(name: "data")
            var set = try WrappedKeySet(wrapping: data, with: KeyEncryptionKey.random(name: "a"))
            let key = try password.makeKey()
            let needles =
                try Needle.all(of: secret) + Needle.all(of: key.secret())
                + Needle.all(of: data.material.secret())
            try set.add(password, for: data)
            let unlocked = try set.unwrap(with: password)
            try expectFound(needles[0], needles[3], needles[6])
            for key in [data, unlocked] { key.clear() }
            key.clear()
            return needles
        }

        static func unlockWithCode() throws -> [Needle] {
            let code = RecoveryCode.random()
            let data = try DataEncryptionKey.random(name: "data")
            let set = try WrappedKeySet(wrapping: data, with: code)
            let key = try code.key(for: set.records[0])
            let text = code.formatted.withUnsafeBytes { SecretBytes(copying: [UInt8]($0)) }
            // Without the check character.
            let characters = SecretBytes(count: 20) { buffer in
                text.withUnsafeBytes { text in
                    var place = 0
                    for byte in text where byte != UInt8(ascii: "-") && place < 20 {
                        buffer[place] = byte
                        place += 1
                    }
                }
            }
            let needles =
                try Needle.all(of: characters) + Needle.all(of: key.secret())
                + Needle.all(of: data.material.secret())
            let unlocked = try set.unwrap(with: RecoveryCode(text))
            try expectFound(needles[0], needles[3], needles[6])
            for key in [data, unlocked] { key.clear() }
            key.clear()
            return needles
        }

        static func stream() throws -> [Needle] {
            let data = try DataEncryptionKey.random(name: "data")
            var sealed = Data()
            let writer = try SealedStreamWriter(with: data) { sealed.append($0) }
            try writer.write(Data(repeating: 1, count: 200_000))
            try writer.finish()
            let salt = Array(sealed.dropFirst(10).prefix(16))
            let needles =
                try Needle.all(of: data.material.secret())
                + [Needle(of: data.subkey("stream", salt: salt))]
            let reader = try SealedStreamReader(with: data, from: SealedBytes.source(sealed))
            while try reader.read() != nil {}
            try withExtendedLifetime((writer, reader)) {
                try expectFound(needles[0], needles[3])
            }
            data.clear()
            return needles
        }

        static func hold() throws -> [Needle] {
            let holder = KeyHolder(idleTime: .milliseconds(300))
            let data = try DataEncryptionKey.random(name: "data")
            let needles = try Needle.all(of: data.material.secret())
            holder.hold(data)
            try holder.withKey { key in
                _ = try key.seal(Data(), table: "t", column: "c", row: 1)
                try expectFound(needles[0])
            }
            // No call triggers this: a timer does.
            while !data.isCleared { Thread.sleep(forTimeInterval: 0.05) }
            return needles
        }

        /// Verifies that the search finds the needles while they are in memory.
        static func expectFound(_ needles: Needle...) throws {
            for needle in needles where try needle.countInProcess() == 0 {
                throw CocoaError(.featureUnsupported)
            }
        }

        static func expectNone(_ needles: [Needle]) throws {
            for (number, needle) in needles.enumerated() {
                let count = try needle.countInProcess()
                check(count, equals: 0, "needle \(number)")
            }
        }
    }
#endif
