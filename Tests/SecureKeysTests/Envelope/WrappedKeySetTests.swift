import Foundation
import SecureStoragePlatform
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct WrappedKeySetTests {
    private let data: DataEncryptionKey
    private let device: KeyEncryptionKey
    private let password: PasswordKey
    private let code = RecoveryCode.random()

    init() throws {
        data = try .random(name: "data")
        device = try .random(name: "device")
        password = try PasswordKey("hunter2", parameters: .cheapest)
    }

    @Test func `device, password and recovery code all unwrap the same key`() throws {
        let set = try full()
        let read = try WrappedKeySet(bytes: set.bytes)
        check(read, equals: set)
        check(
            read.records.map(\.keyEncryptionKeyName),
            equals: ["device", "password", "recovery code"])
        try expectUnwraps(read, with: device)
        try expectUnwraps(read, with: password)
        try expectUnwraps(read, with: code)
    }

    @Test func `each kind of wrong key has its own error`() throws {
        let set = try full()
        #expect(throws: EnvelopeError.wrongKey(name: "device")) {
            try set.unwrap(with: KeyEncryptionKey.random(name: "device"))
        }
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try set.unwrap(with: PasswordKey("hunter3"))
        }
        #expect(throws: EnvelopeError.wrongRecoveryCode(name: "recovery code")) {
            try set.unwrap(with: RecoveryCode.random())
        }
        #expect(throws: EnvelopeError.noSuchKey(name: "tablet")) {
            try set.unwrap(with: KeyEncryptionKey.random(name: "tablet"))
        }
        // The name of one kind with the secret of another.
        #expect(throws: EnvelopeError.noSuchKey(name: "device")) {
            try set.unwrap(with: PasswordKey("hunter2", name: "device"))
        }
    }

    @Test func `a removed record no longer unwraps, and the last one cannot be removed`() throws {
        var set = try full()
        try set.remove(name: "password")
        #expect(throws: EnvelopeError.noSuchKey(name: "password")) {
            try set.unwrap(with: password)
        }
        #expect(throws: EnvelopeError.noSuchKey(name: "password")) {
            try set.remove(name: "password")
        }
        try set.remove(name: "recovery code")
        #expect(throws: EnvelopeError.lastKey(name: "device")) { try set.remove(name: "device") }
        try expectUnwraps(set, with: device)
    }

    @Test func `rewrapping changes one record, but not the others or the data key`() throws {
        var set = try full()
        let before = set
        let new = try KeyEncryptionKey.random(name: "device")
        try set.rewrap(from: device, to: new)
        try expectUnwraps(set, with: new)
        check(set.records[0] != before.records[0])
        check(set.records[1...], equals: before.records[1...])
        #expect(throws: EnvelopeError.wrongKey(name: "device")) { try set.unwrap(with: device) }
        let tablet = try KeyEncryptionKey.random(name: "tablet")
        try set.rewrap(from: new, to: tablet)
        try expectUnwraps(set, with: tablet)
        check(
            set.records.map(\.keyEncryptionKeyName),
            equals: ["tablet", "password", "recovery code"])
    }

    @Test func `a failed operation leaves the set unchanged`() throws {
        var set = try full()
        let before = set
        let other = try KeyEncryptionKey.random(name: "device")
        #expect(throws: EnvelopeError.duplicateKey(name: "device")) {
            try set.add(other, for: data)
        }
        #expect(throws: EnvelopeError.wrongKey(name: "device")) {
            try set.rewrap(from: other, to: device)
        }
        #expect(throws: EnvelopeError.duplicateKey(name: "password")) {
            try set.rewrap(from: device, to: password)
        }
        let tablet = try KeyEncryptionKey.random(name: "tablet")
        // The same name but another key: its data would be lost with the record.
        #expect(throws: EnvelopeError.otherDataKey(name: "data")) {
            try set.add(tablet, for: .random(name: "data"))
        }
        check(set, equals: before)
    }

    @Test func `a password is derived again when the default cost has risen`() throws {
        var set = try WrappedKeySet(wrapping: data, with: password)
        try check(ScryptParameters.cheapest.needsUpgrade)
        check(!ScryptParameters.default.needsUpgrade)
        check(set.records[0].needsUpgrade)
        try check(!WrappedKey(wrapping: data, with: device).needsUpgrade)
        try check(set.upgrade(unlocking: password).changed, equals: false)
        let better = try ScryptParameters(costExponent: 15, blockSize: 8, parallelism: 2)
        let today = PasswordKey("hunter2", parameters: better)
        let (key, changed) = try set.upgrade(unlocking: today)
        check(changed)
        try check(key.material.secret(), equals: data.material.secret())
        guard case .password(better, _) = set.records[0].origin else {
            Issue.record("\(set.records[0].origin)")
            return
        }
        try expectUnwraps(set, with: password)
        #expect(throws: EnvelopeError.wrongPassword(name: "password")) {
            try set.upgrade(unlocking: PasswordKey("hunter3", parameters: better))
        }
    }

    @Test func `a set holds at most 32 records`() throws {
        var set = try WrappedKeySet(wrapping: data, with: device)
        for number in 1..<32 { try set.add(KeyEncryptionKey.random(name: "\(number)"), for: data) }
        try check(WrappedKeySet(bytes: set.bytes), equals: set)
        guard
            case .limitReached = envelopeError({
                try set.add(KeyEncryptionKey.random(name: "one more"), for: data)
            })
        else {
            Issue.record("33 records were accepted")
            return
        }
    }

    @Test func `a record of another set is refused`() throws {
        let set = try WrappedKeySet(wrapping: data, with: device)
        // With the same names, so that only the key itself differs.
        let other = try WrappedKeySet(wrapping: .random(name: "data"), with: device)
        var bytes = set.bytes
        let (from, to) = (other.records[0].bytes, set.records[0].bytes)
        let range = try require(bytes.range(of: to))
        bytes.replaceSubrange(range, with: from)
        let mixed = try WrappedKeySet(bytes: SealedBytes.withChecksum(bytes))
        guard case .damaged = envelopeError({ _ = try mixed.unwrap(with: device) }) else {
            Issue.record("a key of another set was accepted")
            return
        }
    }

    /// Returns the documented bytes of a set, with the right checksum.
    private func bytes(
        _ records: [WrappedKey], named name: String = "data", count: Int? = nil,
        then rest: [UInt8] = []
    ) -> Data {
        var writer = RecordFrame.begin("SSWS", version: 1)
        writer.name(name)
        writer.raw([UInt8](repeating: 0, count: 16))
        writer.byte(UInt8(count ?? records.count))
        for record in records {
            writer.integer(UInt16(record.bytes.count))
            writer.raw(record.bytes)
        }
        writer.raw(rest)
        return RecordFrame.end(writer)
    }

    @Test func `bytes that contradict themselves are not a set`() throws {
        let records = try (0..<33).map {
            try WrappedKey(wrapping: data, with: KeyEncryptionKey.random(name: "\($0)"))
        }
        let all = Array(records[..<32])
        try check(WrappedKeySet(bytes: bytes(all)).records, equals: all)
        let contradictory = [
            "two of one name": bytes([records[0], records[1], records[0]]),
            "none": bytes([]),
            "too many": bytes(records),
            "fewer than it says": bytes(all, count: 31),
            "more than it says": bytes([records[0]], count: 2),
            "of another data key": bytes(all, named: "date"),
            "something after them": bytes(all, then: [0]),
        ]
        for (kind, bytes) in contradictory {
            guard case .damaged = envelopeError({ _ = try WrappedKeySet(bytes: bytes) }) else {
                Issue.record("taken: \(kind)")
                continue
            }
        }
    }

    private func full() throws -> WrappedKeySet {
        var set = try WrappedKeySet(wrapping: data, with: device)
        try set.add(password, for: data)
        try set.add(code, for: data)
        return set
    }

    private func expectUnwraps(
        _ set: WrappedKeySet, with source: some KeyEncryptionKeySource,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let key = try set.unwrap(with: source)
        try check(
            key.material.secret(), equals: data.material.secret(), sourceLocation: sourceLocation)
        check(key.name, equals: "data", sourceLocation: sourceLocation)
    }
}
