internal import Foundation
internal import SecureStorage

/// The state of an unlocked vault: its keys, its open database, and the time of its last use.
final class OpenedVault: @unchecked Sendable {
    // @unchecked: `idle` is accessed only under the lock of the `DataVault`'s state; `isClosed`,
    // `calls` and `streams` under `lending`.
    let incarnation: Data
    let values: VaultValues
    /// The vault's key, for changing the password.
    let key: DataEncryptionKey
    /// The keys for data that the app encrypts.
    let encryption: VaultEncryptionKeys
    /// The vault's key as it was wrapped when the vault was unlocked.
    let keys: WrappedKeySet?
    private let lending = NSCondition()
    private var isClosed = false
    private var calls = 0
    private var streams: [Stream] = []

    private struct Stream {
        weak var cipher: SealedStreamCipher?
    }

    /// What the unlock found to be earlier than at the last one.
    let rollback: DataVaultRollback

    /// After which time the vault locks itself.
    var idle: IdleTime

    init(
        _ record: VaultRecord, key: DataEncryptionKey, databasePath: String, date: Date,
        now: Duration
    ) throws {
        incarnation = record.incarnation
        self.key = key
        keys = record.keys
        values = try VaultValues(databasePath, key: key)
        encryption = try values.encryptionKeys(of: key)
        // A restored database is that of another vault until its generation is stored.
        rollback =
            record.state == .creating ? [] : record.rollback(try values.generation(), at: date)
        idle = IdleTime(limit: Self.timeout(record.policy), now: now)
    }

    static func timeout(_ policy: DataVaultPasswordPolicy) -> Duration? {
        policy.lockTimeout.flatMap { $0 > 0 ? .seconds($0) : nil }
    }

    /// Passes the keys for data that the app encrypts; a lock waits for `body`, which makes no
    /// callbacks.
    func encrypting<R>(_ body: (VaultEncryptionKeys) throws -> R) throws -> R {
        try lending.withLock {
            guard !isClosed else { throw DataVaultError.locked }
            calls += 1
        }
        defer {
            lending.withLock {
                calls -= 1
                lending.broadcast()
            }
        }
        return try body(encryption)
    }

    /// Gives a key to a stream; a lock revokes it.
    func lend(to cipher: SealedStreamCipher) throws {
        let isLent = lending.withLock {
            streams.removeAll { $0.cipher == nil }
            if !isClosed { streams.append(Stream(cipher: cipher)) }
            return !isClosed
        }
        guard isLent else {
            cipher.clear()
            throw DataVaultError.locked
        }
    }

    /// Closes the database after the calls in progress on it, and clears the keys.
    func close() {
        values.close()
        let lent = lending.withLock {
            isClosed = true
            while calls > 0 { lending.wait() }
            return streams.compactMap(\.cipher)
        }
        for cipher in lent { cipher.clear() }
        key.clear()
        encryption.clear()
    }
}
