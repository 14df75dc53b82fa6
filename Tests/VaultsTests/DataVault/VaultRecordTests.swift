import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

@testable import SecureKeys
@testable import Vaults

/// The bytes of a vault's record, and what it says of its password.
struct VaultRecordTests {
    private let key: DataEncryptionKey
    private let keys: WrappedKeySet

    init() throws {
        key = try .random(name: "device")
        keys = try WrappedKeySet(
            wrapping: .random(name: "vault"), with: KeyEncryptionKey.random(name: "password"))
    }

    private func record(_ change: (inout VaultRecord) -> Void = { _ in }) -> VaultRecord {
        var record = VaultRecord(creatingWith: DataVaultPasswordPolicy())
        record.state = .ready
        record.keys = keys
        change(&record)
        return record
    }

    private func read(_ bytes: Data, of id: String = "a") throws -> VaultRecord {
        try VaultRecord(bytes: bytes, of: id, key: key)
    }

    /// The record as it is read after it was written.
    private func again(_ record: VaultRecord) throws -> VaultRecord {
        try read(record.bytes(of: "a", key: key))
    }

    private func isDamaged(_ body: () throws -> Void) -> Bool {
        if case .damaged = envelopeError(body) { true } else { false }
    }

    // MARK: - Bytes

    @Test func `each field of a record is read as it was written`() throws {
        var policy = DataVaultPasswordPolicy()
        (policy.minLength, policy.minUniqueChars) = (9, 5)
        (policy.expirationDays, policy.lockTimeout) = (30, 600)
        (policy.retryLimit, policy.retryDelay) = (7, 61)
        let written = record {
            $0.policy = policy
            $0.tries = PasswordTries(
                count: 3, last: .init(uptime: 77, start: Data(repeating: 6, count: 16)))
            $0.passwordSetAt = -4
            $0.lastDate = 1_800_000_000
            $0.generation = 5
        }
        let found = try again(written)
        check(found.policy, equals: policy)
        check(found.tries, equals: written.tries)
        check(found.state, equals: .ready)
        check(found.incarnation, equals: written.incarnation)
        check(
            [found.passwordSetAt, found.lastDate, found.generation], equals: [-4, 1_800_000_000, 5])
        check(found.keys, equals: keys)
        try check(found.stored.map { try read($0).policy }, equals: [policy])
    }

    @Test(
        arguments: [
            \.usesDefaultPassword, \.policy.defaultPasswordAllowed, \.policy.hasDigits,
            \.policy.hasUpper, \.policy.hasLower, \.policy.hasSpecial, \.policy.refusesRollback,
        ] as [any WritableKeyPath<VaultRecord, Bool> & Sendable])
    private func `each choice is kept apart from the others`(
        _ choice: any WritableKeyPath<VaultRecord, Bool> & Sendable
    ) throws {
        for isChosen in [false, true] {
            let written = record { $0[keyPath: choice] = isChosen }
            let found = try again(written)
            check(found[keyPath: choice], equals: isChosen)
            check(found.policy, equals: written.policy)
            check(found.usesDefaultPassword, equals: written.usesDefaultPassword)
        }
    }

    @Test func `a record of another vault or with something after it is damaged`() throws {
        let bytes = try record().bytes(of: "a", key: key)
        check(isDamaged { _ = try read(bytes, of: "b") })
        check(isDamaged { _ = try read(bytes, of: "") })
        let longer = SealedBytes.withChecksum(bytes.dropLast(8) + [0] + bytes.suffix(8))
        check(isDamaged { _ = try read(longer) })
        try check(VaultRecord.id(inBytes: bytes), equals: "a")
    }

    @Test(arguments: [
        (VaultRecord.State.creating, false), (.ready, true), (.deleted, false),
        (.selfDestructed, false), (.ended, false),
    ])
    func `a vault has a key while it is ready, and only then`(
        _ state: VaultRecord.State, _ hasKeys: Bool
    ) throws {
        for keys in [nil, keys] {
            let written = record { ($0.state, $0.keys) = (state, keys) }
            if hasKeys == (keys != nil) {
                try check(again(written).state, equals: state)
            } else {
                check(isDamaged { _ = try again(written) })
            }
        }
    }

    @Test func `the record of a destroyed vault has no key, and tells why it is gone`() throws {
        for state in [VaultRecord.State.deleted, .selfDestructed, .ended] {
            let before = record()
            let destroyed = before.destroyed(state)
            check(destroyed.keys == nil)
            check(destroyed.state, equals: state)
            check(destroyed.incarnation, equals: before.incarnation)
            check(state.isDestroyed)
            check(state.isSelfDestructed, equals: state != .deleted)
            try check(again(destroyed).state, equals: state)
        }
        check(!VaultRecord.State.ready.isDestroyed && !VaultRecord.State.creating.isDestroyed)
    }

    @Test(arguments: [(-1, 0), (0, -1), (0, .max), (.min, 0)] as [(Int64, Int64)])
    func `a last unlock before 1970, or after the last generation, is damage`(
        _ date: Int64, _ generation: Int64
    ) throws {
        let impossible = record { ($0.lastDate, $0.generation) = (date, generation) }
        check(isDamaged { _ = try again(impossible) })
        let possible = record { ($0.lastDate, $0.generation) = (.max, .max - 1) }
        try check(again(possible).generation, equals: .max - 1)
    }

    @Test func `a record of another version is refused with its version`() throws {
        var bytes = try record().bytes(of: "a", key: key)
        for version in [0, 2] as [UInt8] {
            bytes[4] = version
            #expect(throws: EnvelopeError.unsupportedVersion(Int(version))) {
                try read(SealedBytes.withChecksum(bytes))
            }
        }
    }

    // MARK: - What it says

    @Test func `a password expires at the moment, not a second earlier, and stays expired`() {
        let day: Int64 = 86_400
        let vault = record {
            $0.policy.expirationDays = 2
            $0.passwordSetAt = 1000
        }
        func isExpired(_ vault: VaultRecord, _ seconds: Int64) -> Bool {
            vault.isExpired(at: Date(timeIntervalSince1970: Double(seconds)))
        }
        check(!isExpired(vault, 1000 + 2 * day - 1))
        check(isExpired(vault, 1000 + 2 * day))
        var seen = vault
        seen.lastDate = 1000 + 2 * day
        check(isExpired(seen, 0))
        seen.lastDate -= 1
        check(!isExpired(seen, 0))
        for days in [nil, 0, -1] {
            var without = vault
            without.policy.expirationDays = days
            check(!isExpired(without, .max))
        }
        var standard = vault
        standard.usesDefaultPassword = true
        check(!isExpired(standard, .max))
    }

    @Test func `a vault with a limit has at least one try left, and without one no number`() {
        func tries(_ limit: Int, _ count: UInt32) -> (left: Int?, isOut: Bool) {
            let record = record {
                $0.policy.retryLimit = limit
                $0.tries.count = count
            }
            return (record.triesLeft, record.isOutOfTries)
        }
        check(tries(3, 0) == (3, false))
        check(tries(3, 2) == (1, false))
        check(tries(3, 3) == (1, true))
        check(tries(3, .max) == (1, true))
        check(tries(1, 0) == (1, false))
        check(tries(0, 0) == (nil, false))
        check(tries(0, .max) == (nil, false))
    }
}
