import Crypto
import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct WrappedKeyTests {
    private let data: DataEncryptionKey
    private let device: KeyEncryptionKey

    init() throws {
        data = try .random(name: "data")
        device = try .random(name: "device")
    }

    @Test func `a wrapped key round-trips through its bytes`() throws {
        let record = try WrappedKey(wrapping: data, with: device)
        let read = try WrappedKey(bytes: record.bytes)
        check(read, equals: record)
        let unwrapped = try read.unwrap(with: device)
        check(unwrapped.name, equals: "data")
        try check(unwrapped.material.secret(), equals: data.material.secret())
    }

    @Test func `a wrong key is distinguished from damage`() throws {
        let bytes = try WrappedKey(wrapping: data, with: device).bytes
        let other = try KeyEncryptionKey.random(name: "device")
        #expect(throws: EnvelopeError.wrongKey(name: "device")) {
            try WrappedKey(bytes: bytes).unwrap(with: other)
        }
        var damaged = bytes
        damaged[60] ^= 1
        #expect(throws: EnvelopeError.damaged(reason: "its checksum is wrong")) {
            try WrappedKey(bytes: damaged)
        }
    }

    @Test func `a record that opens under a key to which it has not committed does not unwrap`()
        throws
    {
        let other = try KeyEncryptionKey.random(name: "device")
        let (ours, theirs) = try (
            WrappedKey(wrapping: data, with: device).bytes,
            WrappedKey(wrapping: data, with: other).bytes
        )
        // The box of one record before the commitment of the other.
        let mixed = try WrappedKey(
            bytes: SealedBytes.withChecksum(theirs.dropLast(40) + ours.suffix(40)))
        for key in [device, other] {
            #expect(throws: EnvelopeError.wrongKey(name: "device")) {
                try mixed.unwrap(with: key)
            }
        }
    }

    @Test func `the right key does not unwrap under another name`() throws {
        let record = try WrappedKey(wrapping: data, with: device)
        let renamed = try KeyEncryptionKey(name: "devicf", bytes: device.secret())
        #expect(throws: EnvelopeError.noSuchKey(name: "devicf")) {
            try record.unwrap(with: renamed)
        }
        // Even if the record is edited to match, for either name: the checksum is not keyed.
        for (old, new, name) in [("data", "date", "device"), ("device", "devicf", "devicf")] {
            let edited = try Self.replacing(old, by: new, in: record.bytes)
            let key = name == "device" ? device : renamed
            #expect(throws: EnvelopeError.wrongKey(name: name)) {
                try WrappedKey(bytes: edited).unwrap(with: key)
            }
        }
    }

    @Test func `a record of a newer version is refused with its version`() throws {
        var bytes = try WrappedKey(wrapping: data, with: device).bytes
        bytes[4] = 2
        #expect(throws: EnvelopeError.unsupportedVersion(2)) {
            try WrappedKey(bytes: SealedBytes.withChecksum(bytes))
        }
    }

    @Test func `two records of one key share nothing but names`() throws {
        let (one, two) = try (
            WrappedKey(wrapping: data, with: device), WrappedKey(wrapping: data, with: device)
        )
        check(one.box.prefix(12) != two.box.prefix(12))
        check(one.box.dropFirst(12).prefix(32) != two.box.dropFirst(12).prefix(32))
    }

    @Test func `the longest and the shortest record are within the bounds`() throws {
        let name = String(repeating: "n", count: 255)
        let longest = try WrappedKey(
            wrapping: .random(name: name),
            with: PasswordKey("a", name: name, parameters: .cheapest).makeKey())
        check(longest.bytes.count, equals: WrappedKey.lengths.upperBound)
        try check(WrappedKey(bytes: longest.bytes), equals: longest)
        let shortest = try WrappedKey(wrapping: .random(name: "a"), with: .random(name: "b"))
        check(shortest.bytes.count, equals: WrappedKey.lengths.lowerBound)
        try check(WrappedKey(bytes: shortest.bytes), equals: shortest)
    }

    @Test func `the bytes follow the documented format`() throws {
        let record = try WrappedKey(wrapping: data, with: device)
        let header =
            Array("SSWK".utf8) + [1, 0, 4] + Array("data".utf8) + [6] + Array("device".utf8)
        let bytes = [UInt8](record.bytes)
        check(bytes.starts(with: header))
        check(bytes.count, equals: header.count + 12 + 32 + 16 + 32 + 8)
        // What another implementation of that table and the two standards would do.
        let nonce = bytes[header.count..<(header.count + 12)]
        let box = try AES.GCM.SealedBox(
            nonce: AES.GCM.Nonce(data: nonce),
            ciphertext: bytes[(header.count + 12)..<(header.count + 44)],
            tag: bytes[(header.count + 44)..<(header.count + 60)])
        func derived(_ use: String) throws -> SymmetricKey {
            let parts: [[UInt8]] = [
                Array("SecureStorage wrapped key 1".utf8), Array(use.utf8), Array(nonce),
            ]
            let info: [UInt8] = parts.flatMap { [0, 0, 0, UInt8($0.count)] + $0 }
            return HKDF<SHA256>.expand(
                pseudoRandomKey: SymmetricKey(data: try device.secret()), info: info,
                outputByteCount: 32)
        }
        let key = try AES.GCM.open(box, using: derived("encryption"), authenticating: header)
        try check(SecretBytes(copying: key), equals: data.material.secret())
        try check(
            SymmetricKey(data: bytes[(header.count + 60)..<(header.count + 92)]),
            equals: derived("commitment"))
        check(SHA256.hash(data: bytes.dropLast(8)).prefix(8).elementsEqual(bytes.suffix(8)))
    }

    /// Returns the record with the first occurrence of a text replaced, and a matching checksum.
    private static func replacing(
        _ old: String, by new: String, in bytes: Data
    ) throws -> Data {
        var bytes = bytes
        let range = try require(bytes.range(of: Data(old.utf8)))
        bytes.replaceSubrange(range, with: Data(new.utf8))
        return SealedBytes.withChecksum(bytes)
    }
}
