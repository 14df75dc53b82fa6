import Foundation
import TestSupport
import Testing

@testable import SecureKeys
@testable import Vaults

/// What a backup's header may say, before any key is derived for it.
struct VaultBackupHeaderTests {
    private let key: DataEncryptionKey
    private let set: WrappedKeySet
    private let code = RecoveryCode.random()

    init() throws {
        key = try .random(name: VaultBackupHeader.keyName)
        set = try WrappedKeySet(wrapping: key, with: code)
    }

    private func header(
        at date: Date = Date(timeIntervalSince1970: 1_800_000_000),
        label: VaultBackupLabel = VaultBackupLabel(), set: WrappedKeySet? = nil,
        keys: [VaultBackupHeader.Key] = []
    ) throws -> VaultBackupHeader {
        try VaultBackupHeader(
            identity: VaultIdentity(id: UUID(), generation: 7), createdAt: date,
            databaseSize: 12_288, label: label, keySet: set ?? self.set, keys: keys)
    }

    private func isDamaged(_ body: () throws -> Void) -> Bool {
        if case .damaged = envelopeError(body) { true } else { false }
    }

    private func set(named name: String, _ parameters: ScryptParameters? = nil) throws
        -> WrappedKeySet
    {
        let data = try DataEncryptionKey.random(name: name)
        guard let parameters else { return try WrappedKeySet(wrapping: data, with: code) }
        return try WrappedKeySet(wrapping: data, with: password(parameters))
    }

    /// A key of a password that nobody derives.
    private func password(_ parameters: ScryptParameters) throws -> KeyEncryptionKey {
        try KeyEncryptionKey(
            name: "password", bytes: .random(count: 32),
            origin: .password(parameters, salt: Data(count: 16)))
    }

    // MARK: - Fields

    @Test func `a header is read as it was written`() throws {
        let other = try set(named: "other")
        let data = try WrappedKey(wrapping: .random(name: "data"), with: .random(name: "device"))
        let id = UUID()
        let written = try VaultBackupHeader(
            identity: VaultIdentity(id: id, generation: .max), createdAt: Date(),
            databaseSize: .max, label: VaultBackupLabel(deviceName: "Zoë's", note: "a\0b"),
            keySet: set, keys: [.set(other), .key(data)])
        let found = try VaultBackupHeader(bytes: written.bytes)
        check(found.metadata, equals: written.metadata)
        check(found.metadata.vaultID, equals: id)
        check(found.metadata.generation, equals: .max)
        check(found.metadata.databaseSize, equals: .max)
        check(found.metadata.label.deviceName, equals: "Zoë's")
        check(found.metadata.label.note, equals: "a\0b")
        check(found.metadata.dataKeyNames, equals: ["other", "data"])
        check(found.keySet, equals: set)
        check(found.bytes, equals: written.bytes)
    }

    // Exact in binary: eighths and sixteenths of a second.
    @Test(
        arguments: [
            (1_800_000_000.125, 1_800_000_000.125), (1_800_000_000.0625, 1_800_000_000.062),
            (1_800_000_000.9375, 1_800_000_000.937), (-0.0625, -0.063), (0, 0),
            (1e300, 4e12), (-1e300, -4e12),
        ] as [(Double, Double)])
    func `a date is kept to the millisecond before it`(_ seconds: Double, _ kept: Double) throws {
        let found = try header(at: Date(timeIntervalSince1970: seconds)).metadata.createdAt
        check(found, equals: Date(timeIntervalSince1970: kept))
    }

    // MARK: - Bounds

    @Test func `texts are as long as they may be, and no longer`() throws {
        func label(_ device: Int, _ note: Int) -> VaultBackupLabel {
            VaultBackupLabel(
                deviceName: String(repeating: "d", count: device),
                note: String(repeating: "n", count: note))
        }
        try check(header(label: label(255, 4096)).metadata.label, equals: label(255, 4096))
        check(isDamaged { _ = try header(label: label(256, 0)) })
        check(isDamaged { _ = try header(label: label(0, 4097)) })
    }

    @Test func `a backup has at most 64 data keys`() throws {
        let data = try VaultBackupHeader.Key.key(
            WrappedKey(wrapping: .random(name: "data"), with: .random(name: "device")))
        try check(header(keys: Array(repeating: data, count: 64)).keys.count, equals: 64)
        check(isDamaged { _ = try header(keys: Array(repeating: data, count: 65)) })
    }

    @Test func `a header is at most one MiB long`() throws {
        let name = String(repeating: "n", count: 253)
        var large = try set(named: name)
        let opened = try large.unwrap(with: code)
        for number in 10..<41 {
            try large.add(KeyEncryptionKey.random(name: "\(number)\(name)"), for: opened)
        }
        let keys = Array(repeating: VaultBackupHeader.Key.set(large), count: 64)
        let one = try header(keys: Array(keys.prefix(1))).bytes.count
        let most = 1 + ((1 << 20) - one) / (3 + large.bytes.count)
        try check(header(keys: Array(keys.prefix(most))).bytes.count <= 1 << 20)
        let error = backupError { _ = try header(keys: Array(keys.prefix(most + 1))) }
        check(error?.kind, equals: "unacceptableContents")
    }

    @Test func `the key of a backup has the name of one`() throws {
        check(isDamaged { _ = try header(set: set(named: "vault")) })
    }

    /// Little memory or much; the third has the least work that is too much.
    private static let refused = [(16, 10, 4), (18, 16, 1), (16, 11, 3), (20, 8, 1)]

    @Test(arguments: refused)
    func `no password may cost more than twice the default, wherever it is`(
        _ exponent: Int, _ blockSize: Int, _ parallelism: Int
    ) throws {
        let parameters = try ScryptParameters(
            costExponent: exponent, blockSize: blockSize, parallelism: parallelism)
        let own = try WrappedKeySet(wrapping: key, with: password(parameters))
        let data = try WrappedKey(wrapping: .random(name: "data"), with: password(parameters))
        let other = try set(named: "data", parameters)
        let makers: [() throws -> VaultBackupHeader] = [
            { try header(set: own) }, { try header(keys: [.key(data)]) },
            { try header(keys: [.set(other)]) },
        ]
        for make in makers {
            guard case .unacceptableParameters = envelopeError({ _ = try make() }) else {
                Issue.record("taken: \(parameters)")
                continue
            }
        }
    }

    @Test(arguments: [(18, 8, 1), (17, 8, 2), (16, 8, 4), (17, 8, 1)])
    func `a password may cost twice the default`(
        _ exponent: Int, _ blockSize: Int, _ parallelism: Int
    ) throws {
        let parameters = try ScryptParameters(
            costExponent: exponent, blockSize: blockSize, parallelism: parallelism)
        let data = try set(named: "data", parameters)
        try check(header(keys: [.set(data)]).keys.count, equals: 1)
    }

    // MARK: - Bytes

    /// Returns a header's bytes, changed, with the length and the checksum that fit.
    private func changed(
        _ header: VaultBackupHeader, _ change: (inout Data) -> Void
    ) -> Data {
        var bytes = header.bytes
        change(&bytes)
        withUnsafeBytes(of: UInt32(bytes.count).bigEndian) {
            bytes.replaceSubrange(5..<9, with: $0)
        }
        return SealedBytes.withChecksum(bytes)
    }

    @Test func `bytes that are left over, or other than they say, are damage`() throws {
        let data = try WrappedKey(wrapping: .random(name: "data"), with: .random(name: "device"))
        let header = try header(keys: [.key(data)])
        let kind = header.bytes.count - 8 - data.bytes.count - 3
        let end = header.bytes.count - 8
        try check(VaultBackupHeader(bytes: changed(header) { _ in }).keys.count, equals: 1)
        let changes: [String: (inout Data) -> Void] = [
            "a byte after the last key": { $0.insert(0, at: end) },
            "a key of an unknown kind": { $0[kind] = 2 },
            "a key that is taken for a set": { $0[kind] = 1 },
            "one key more": { $0[kind - 1] = 2 },
            "one key fewer": { $0[kind - 1] = 0 },
        ]
        for (name, change) in changes {
            check(
                isDamaged { _ = try VaultBackupHeader(bytes: changed(header, change)) }, "\(name)")
        }
        var bytes = header.bytes
        bytes[8] &+= 1
        check(
            isDamaged { _ = try VaultBackupHeader(bytes: SealedBytes.withChecksum(bytes)) })
        // The name of the device is the first text.
        let text = try self.header(label: VaultBackupLabel(deviceName: "ab"))
        let place = try require(text.bytes.range(of: Data("ab".utf8))).lowerBound
        check(
            isDamaged { _ = try VaultBackupHeader(bytes: changed(text) { $0[place] = 0xff }) })
    }
}
