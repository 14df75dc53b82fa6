import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

/// Damaged bytes of every kind, from a seed that a failure reports.
///
/// `make campaign NAME=damage` tries more.
struct MutationTests {
    private static let count = environmentNumber("SECURESTORAGE_DAMAGES", default: 2_000)

    @Test func `damaged wrapped keys and sets are errors`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let device = try KeyEncryptionKey.random(name: "device")
        let code = RecoveryCode.random()
        var set = try WrappedKeySet(wrapping: data, with: device)
        try set.add(code, for: data)
        try set.add(PasswordKey("hunter2", parameters: .cheapest), for: data)
        let records = [set.bytes] + set.records.map(\.bytes)
        // Half of them get a matching checksum, as an attacker would make it.
        try Mutations.run(records, count: Self.count) { bytes, generator in
            let bytes =
                Bool.random(using: &generator) && bytes.count > 8
                ? SealedBytes.withChecksum(bytes) : bytes
            guard !records.contains(bytes) else { return .refused }  // checksum damage only
            do {
                let set = try WrappedKeySet(bytes: bytes)
                return try Self.outcome(of: set.unwrap(with: device), data)
            } catch is EnvelopeError {}
            do {
                let record = try WrappedKey(bytes: bytes)
                // Password records are not unwrapped, because the derivation takes long.
                if case .password = record.origin { return .refused }
                return switch record.origin {
                case .recoveryCode: try Self.outcome(of: record.unwrap(with: code), data)
                default: try Self.outcome(of: record.unwrap(with: device), data)
                }
            } catch is EnvelopeError {
                return .refused
            }
        }
    }

    @Test func `damaged sealed values are errors`() throws {
        let key = try DataEncryptionKey.random(name: "data")
        let values = try [0, 1, 32, 100].map {
            try key.seal(Data(repeating: 7, count: $0), table: "t", column: "c", row: 1)
        }
        try Mutations.run(values, count: Self.count) { bytes, _ in
            do {
                _ = try key.open(bytes, table: "t", column: "c", row: 1)
                return .changed
            } catch {
                return isDamage(error) ? .refused : .changed
            }
        }
    }

    @Test func `damaged streams are errors`() throws {
        let key = try DataEncryptionKey.random(name: "data")
        let streams = try [0, 1, 300, SealedStream.chunkLength + 40].map { count in
            var sealed = Data()
            let writer = try SealedStreamWriter(with: key) { sealed.append($0) }
            try writer.write(Data(repeating: 7, count: count))
            try writer.finish()
            return sealed
        }
        try Mutations.run(streams, count: Self.count) { bytes, _ in
            do {
                let reader = try SealedStreamReader(
                    with: key, from: SealedBytes.source(bytes))
                while let part = try reader.read() {
                    check(part.allSatisfy { $0 == 7 })
                }
                return .changed
            } catch {
                return isDamage(error) ? .refused : .changed
            }
        }
    }

    @Test func `random bytes are not valid records`() throws {
        var generator = Mutations.Generator(seed: 7)
        let key = try DataEncryptionKey.random(name: "data")
        for _ in 0..<Self.count {
            var bytes = Data(
                (0..<Int.random(in: 0..<300, using: &generator)).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                })
            // Gets most of them past the check of the first bytes.
            let magic = ["SSWK\u{1}", "SSWS\u{1}", "SSST\u{1}", ""].randomElement(using: &generator)
            bytes = Data((magic ?? "").utf8) + bytes
            if Bool.random(using: &generator), bytes.count > 8 {
                bytes = SealedBytes.withChecksum(bytes)
            }
            check(envelopeError { _ = try WrappedKey(bytes: bytes) } != nil)
            check(envelopeError { _ = try WrappedKeySet(bytes: bytes) } != nil)
            check(
                envelopeError {
                    let reader = try SealedStreamReader(
                        with: key, from: SealedBytes.source(bytes))
                    while try reader.read() != nil {}
                } != nil)
        }
    }

    private static func outcome(
        of key: DataEncryptionKey, _ original: DataEncryptionKey
    ) throws -> Mutations.Outcome {
        let isOurs = try key.material.secret() == original.material.secret()
        return isOurs && key.name == original.name ? .unchanged : .changed
    }
}

/// Random changes to bits, bytes and parts of records.
private enum Mutations {
    enum Outcome { case refused, unchanged, changed }

    typealias Generator = SplitMix64

    static func run(
        _ originals: [Data], count: Int, _ open: (Data, inout Generator) throws -> Outcome
    ) throws {
        let first = UInt64.random(in: 0...(.max))
        var slowest: Duration = .zero
        var tried = 0
        for number in 0..<count {
            let seed = first &+ UInt64(number)
            var generator = Generator(seed: seed)
            let original = try require(originals.randomElement(using: &generator))
            let changed = mutate(original, originals, &generator)
            guard !originals.contains(changed) else { continue }
            tried += 1
            let start = ThreadTime.now
            let outcome = try open(changed, &generator)
            slowest = max(slowest, ThreadTime.now - start)
            check(outcome, equals: .refused, "seed \(seed)")
        }
        check(tried > count * 9 / 10)
        check(slowest < .seconds(2))
    }

    private static func mutate(
        _ original: Data, _ others: [Data], _ generator: inout Generator
    ) -> Data {
        var bytes = original
        func place() -> Int { Int.random(in: 0..<bytes.count, using: &generator) }
        switch Int.random(in: 0..<8, using: &generator) {
        case 0:
            bytes[place()] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1:
            bytes = bytes.prefix(place())
        case 2:
            bytes.append(
                contentsOf: (0...place() % 40).map { _ in
                    UInt8.random(in: 0...255, using: &generator)
                })
        case 3:
            bytes.swapAt(place(), place())
        case 4:
            bytes[place()] = [0, 1, 0x7f, 0x80, 0xff].randomElement(using: &generator) ?? 0
        case 5:
            // Removes a part.
            let start = place()
            bytes.removeSubrange(start..<min(bytes.count, start + 1 + place() % 64))
        case 6:
            // Joins the beginning of one and the end of another.
            let other = others.randomElement(using: &generator) ?? bytes
            bytes = bytes.prefix(place()) + other.suffix(place() % (other.count + 1))
        default:
            for _ in 0..<8 { bytes[place()] = UInt8.random(in: 0...255, using: &generator) }
        }
        return Data(bytes)
    }
}
