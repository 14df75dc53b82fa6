import TestSupport

#if os(Linux)
    import Foundation
    import SecureStorage
    import Testing

    @testable import SecureKeys
    @testable import Vaults
    @testable import VaultsTests

    /// Damaged bytes for the whole module, in a separate process and within bounds of time and
    /// memory.
    ///
    /// SECURESTORAGE_DAMAGES=10000 tries that many in total; the default is smaller.
    struct DamageTests {
        static let count = environmentNumber("SECURESTORAGE_DAMAGES", default: 1200)

        enum Kind: String, CaseIterable, Codable {
            case wrappedKey, keySet, sealedValue, stream, keyFile, backup
        }

        @Test(.enabled(if: !Sanitizer.isPresent), arguments: Kind.allCases)
        func `damaged bytes fail quickly and without much memory`(_ kind: Kind) async throws {
            await #expect(processExitsWith: .success) { [kind = kind as Kind] in
                // The bound on memory: an allocation of an absurd size exceeds it, and legitimate
                // work does not.
                let before = peakMemory()
                let slowest = try Self.run(kind, count: Self.count / Kind.allCases.count)
                check(slowest < .seconds(2))
                check(peakMemory() - before < 256 << 20)
            }
        }

        /// Tries damaged bytes of a kind, and returns the longest time that one of them took.
        private static func run(_ kind: Kind, count: Int) throws -> Duration {
            let target = try DamageTarget(kind)
            let seed = Campaign.seed
            var damage = Damage(seed: seed)
            var slowest: Duration = .zero
            for round in 0..<count {
                let original = target.originals[round % target.originals.count]
                var bytes = damage.change(original, target.originals, chunk: target.chunk)
                // Half of them get a matching checksum, as an attacker would make it.
                if target.hasChecksum, bytes.count > 8, Bool.random(using: &damage.generator) {
                    bytes = SealedBytes.withChecksum(bytes)
                }
                guard !target.originals.contains(bytes) else { continue }
                let start = ThreadTime.now
                let wasTaken = try target.take(bytes)
                slowest = max(slowest, ThreadTime.now - start)
                check(!wasTaken, "\(kind), seed \(seed), round \(round)")
            }
            return slowest
        }
    }

    /// One kind of record or file, and the code that reads it.
    private struct DamageTarget {
        let originals: [Data]
        var chunk = 16
        var hasChecksum = false
        /// Whether damaged bytes were accepted; throws for any error but the expected ones.
        let take: (Data) throws -> Bool

        init(_ kind: DamageTests.Kind) throws {
            let data = try DataEncryptionKey.random(name: "data")
            let device = try KeyEncryptionKey.random(name: "device")
            let code = RecoveryCode.random()
            switch kind {
            case .wrappedKey:
                originals = [
                    try WrappedKey(wrapping: data, with: device).bytes,
                    try WrappedKey(wrapping: data, with: code.makeKey()).bytes,
                ]
                hasChecksum = true
                take = { bytes in
                    try Self.isTaken(EnvelopeError.self) {
                        let record = try WrappedKey(bytes: bytes)
                        guard case .recoveryCode = record.origin else {
                            return try record.unwrap(with: device)
                        }
                        return try record.unwrap(with: code)
                    }
                }
            case .keySet:
                var set = try WrappedKeySet(wrapping: data, with: device)
                try set.add(code, for: data)
                originals = [set.bytes]
                hasChecksum = true
                take = { bytes in
                    var keys: [DataEncryptionKey] = []
                    for source in [device, code] as [any KeyEncryptionKeySource] {
                        _ = try Self.isTaken(EnvelopeError.self) {
                            keys.append(try WrappedKeySet(bytes: bytes).unwrap(with: source))
                        }
                    }
                    // The set's other record may be intact: it then yields the original key.
                    return try keys.contains { try $0.material.secret() != data.material.secret() }
                }
            case .sealedValue:
                originals = try [0, 1, 32, 4000].map {
                    try data.seal(Data(repeating: 7, count: $0), table: "t", column: "c", row: 1)
                }
                take = { bytes in
                    try Self.isTaken(EnvelopeError.self) {
                        try data.open(bytes, table: "t", column: "c", row: 1)
                    }
                }
            case .stream:
                originals = try [0, 300, 3 * SealedStream.chunkLength + 1].map { count in
                    var sealed = Data()
                    let writer = try SealedStreamWriter(with: data) { sealed.append($0) }
                    try writer.write(Data(repeating: 7, count: count))
                    try writer.finish()
                    return sealed
                }
                chunk = SealedStream.sealedChunkLength
                take = { bytes in
                    try Self.isTaken(EnvelopeError.self) {
                        let reader = try SealedStreamReader(
                            with: data, from: SealedBytes.source(bytes))
                        while try reader.read() != nil {}
                    }
                }
            case .keyFile:
                let folder = try KeyFolder()
                let store = try folder.store()
                try store.store(.random(count: 32), forName: "name")
                let path = try folder.onlyFile()
                originals = [try Data(contentsOf: URL(fileURLWithPath: path))]
                take = { bytes in
                    try bytes.write(to: URL(fileURLWithPath: path))
                    return try withExtendedLifetime(folder) {
                        try Self.isTaken(KeyStoreError.self) { try store.read("name") }
                    }
                }
            case .backup:
                let vault = try TestVault(rows: 150)
                let other = try TestVault(emptyWith: InMemoryKeyStore())
                originals = try ["one", "two"].map { name in
                    let url = vault.place.directory.appendingPathComponent(name)
                    _ = try vault.withQueue {
                        try VaultBackup.make(
                            of: $0, at: url, unlockedBy: [code], dataKeys: [.key(vault.data)])
                    }
                    return try Data(contentsOf: url)
                }
                chunk = SealedStream.sealedChunkLength
                take = { bytes in
                    try bytes.write(to: other.backup)
                    let wasTaken = try Self.isTaken(VaultBackupError.self) {
                        try other.restore(other.backup, code)
                    }
                    return try wasTaken || other.place.fileNames() != ["vault.backup"]
                        || !other.keyStore.names().isEmpty
                }
            }
        }

        private static func isTaken<E: Error, R>(
            _ type: E.Type, _ body: () throws -> R
        ) throws -> Bool {
            do {
                _ = try body()
                return true
            } catch is E {
                return false
            }
        }
    }
#endif
