import Foundation
import SecureStorage
import SecureStoragePlatform
import Testing
import TestSupport

@testable import SecureKeys
@testable import Vaults
@testable import VaultsTests

/// Tests that a modified backup never causes a crash and never yields a restored vault.
struct BackupDamageTests {
    let vault: TestVault
    let code = RecoveryCode.random()
    let bytes: Data
    let header: VaultBackupHeader
    private let scratch: TestVault

    init() throws {
        // Enough rows for six chunks.
        vault = try TestVault(rows: 380)
        scratch = try TestVault(emptyWith: InMemoryKeyStore())
        let (vault, code) = (vault, code)
        _ = try vault.withQueue {
            try VaultBackup.make(
                of: $0, at: vault.backup, unlockedBy: [code], dataKeys: [.key(vault.data)])
        }
        bytes = try Data(contentsOf: vault.backup)
        header = try OpenedBackup(at: vault.backup).header
    }

    private var streamHeader: Int { 4 + 1 + 1 + VaultBackupHeader.keyName.utf8.count + 16 }

    /// Returns the error that restoring these bytes throws, and checks that nothing is left behind.
    private func error(_ bytes: Data) throws -> VaultBackupError? {
        try bytes.write(to: scratch.backup)
        let start = ThreadTime.now
        let error = backupError { try scratch.restore(scratch.backup, code) }
        check(ThreadTime.now - start < .seconds(2))
        try check(scratch.place.fileNames(), equals: ["vault.backup"])
        try check(scratch.keyStore.names(), equals: [])
        return error
    }

    @Test func `a change to any byte of the header is damage`() throws {
        check(bytes.count > header.bytes.count + 5 * 65_552)
        for index in 0..<(header.bytes.count + streamHeader) {
            var changed = bytes
            changed[index] ^= [0x01, 0x80, 0xff][index % 3]
            let error = try error(changed)
            check(error?.isDamage, equals: true, "byte \(index): \(String(describing: error))")
            if index < 4 { check(error?.kind, equals: "notABackup") }
        }
    }

    @Test func `a modified header with a matching checksum does not open`() throws {
        let length = header.bytes.count
        for index in 4..<(length - 8) {
            var changed = bytes
            changed[index] ^= 0x04
            let fitting = SealedBytes.withChecksum(changed.prefix(length))
            let error = try error(fitting + bytes.dropFirst(length))
            // An attacker can choose the error, but never gets a vault.
            let kinds = ["damaged", "unsupportedVersion", "noSuchKey", "wrongRecoveryCode"]
            check(
                kinds.contains(error?.kind ?? ""), "byte \(index): \(String(describing: error))")
        }
    }

    @Test func `a body that was modified, truncated, reordered or extended is damage`() throws {
        let other = try Data(
            contentsOf: {
                let url = vault.place.directory.appendingPathComponent("other")
                _ = try vault.withQueue {
                    try VaultBackup.make(of: $0, at: url, unlockedBy: [code])
                }
                return url
            }())
        let seed = Campaign.seed
        var damage = Damage(seed: seed)
        for round in 0..<environmentNumber("SECURESTORAGE_DAMAGED_BODIES", default: 300) {
            let changed = damage.change(
                bytes, [other], protected: header.bytes.count + streamHeader,
                chunk: SealedStream.sealedChunkLength)
            let error = try error(changed)
            check(
                error?.kind, equals: "damaged",
                "seed \(seed), round \(round): \(String(describing: error))")
        }
    }

    @Test func `chunks from another backup of the same vault are damage`() throws {
        let url = vault.place.directory.appendingPathComponent("other")
        _ = try vault.withQueue { try VaultBackup.make(of: $0, at: url, unlockedBy: [code]) }
        let other = try Data(contentsOf: url)
        let otherHeader = try OpenedBackup(at: url).header.bytes
        // A whole stream under another header, then single chunks.
        try check(error(header.bytes + other.dropFirst(otherHeader.count))?.kind, equals: "damaged")
        for chunk in 0..<5 {
            let start = streamHeader + chunk * SealedStream.sealedChunkLength
            var changed = bytes
            changed.replaceSubrange(
                (header.bytes.count + start)..<(header.bytes.count + start + 65_552),
                with: other[(otherHeader.count + start)..<(otherHeader.count + start + 65_552)])
            try check(error(changed)?.kind, equals: "damaged")
        }
        // The other backup itself is intact.
        try VaultBackup.verify(at: url, unlockedBy: code)
    }

    @Test func `a password with unacceptable parameters is refused before derivation`() throws {
        let password = PasswordKey("p", parameters: try .cheapest)
        let record = try WrappedKey(
            wrapping: .random(name: VaultBackupHeader.keyName), with: password.makeKey())
        // The kind and two names precede N, r and p.
        let place =
            4 + 1 + 1 + 1 + VaultBackupHeader.keyName.utf8.count + 1 + "password".utf8.count
        for (exponent, blockSize, parallelism): (UInt8, UInt32, UInt32) in [
            (1, 8, 1), (14, 8, 1), (17, 0, 1), (20, 8, 1), (17, 8, 4), (18, 16, 1),
            (17, 1 << 30, 1),
            (63, 8, 1), (255, .max, .max), (17, 8, 0), (17, 8, .max),
        ] {
            var changed = record.bytes
            changed[place] = exponent
            for (offset, value) in [(1, blockSize), (5, parallelism)] {
                withUnsafeBytes(of: value.bigEndian) {
                    changed.replaceSubrange(
                        (place + offset)..<(place + offset + 4), with: $0)
                }
            }
            let set = try setBytes(around: SealedBytes.withChecksum(changed))
            // Replace the key set in the vault's header with the modified one.
            let own = header.keySet.bytes
            let range = try require(header.bytes.range(of: own))
            var bytes = header.bytes
            withUnsafeBytes(of: UInt16(set.count).bigEndian) {
                bytes.replaceSubrange(
                    (range.lowerBound - 2)..<range.upperBound, with: Data($0) + set)
            }
            withUnsafeBytes(of: UInt32(bytes.count).bigEndian) {
                bytes.replaceSubrange(5..<9, with: $0)
            }
            bytes = SealedBytes.withChecksum(bytes)
            try (bytes + self.bytes.dropFirst(header.bytes.count)).write(to: scratch.backup)
            let start = ThreadTime.now
            let error = backupError { try scratch.restore(scratch.backup, password) }
            check(
                error?.kind, equals: "unacceptableParameters",
                "\(exponent) \(blockSize) \(parallelism)")
            check(ThreadTime.now - start < .seconds(2))
        }
    }

    /// Returns a key set of one record, encoded like `WrappedKeySet.bytes`.
    private func setBytes(around record: Data) throws -> Data {
        var writer = RecordFrame.begin(WrappedKeySet.magic, version: WrappedKeySet.version)
        writer.name(VaultBackupHeader.keyName)
        writer.raw([UInt8](repeating: 1, count: WrappedKeySet.checkLength))
        writer.byte(1)
        writer.integer(UInt16(record.count))
        writer.raw(record)
        return RecordFrame.end(writer)
    }

    @Test func `a file that is not a backup is distinguished from a damaged one`() throws {
        for bytes in [Data(), Data("SQLite format 3\0".utf8), Data(count: 100_000)] {
            try check(error(bytes)?.kind, equals: "notABackup")
        }
        for length in [4, 5, 8, 9, 100, header.bytes.count - 1, header.bytes.count] {
            try check(error(bytes.prefix(length))?.kind, equals: "damaged")
        }
        // No header has this length: the reader must not read that many bytes.
        var changed = bytes
        changed.replaceSubrange(5..<9, with: [0xff, 0xff, 0xff, 0xff])
        try check(error(changed)?.kind, equals: "damaged")
        let missing = vault.place.directory.appendingPathComponent("missing")
        check(backupError { _ = try VaultBackup.metadata(at: missing) }?.kind, equals: "fileFailed")
        check(
            backupError { _ = try VaultBackup.metadata(at: vault.place.directory) }?.kind,
            equals: "notABackup")
    }
}
