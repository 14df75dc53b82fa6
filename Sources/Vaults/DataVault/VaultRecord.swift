internal import Foundation
internal import SecureStoragePlatform

/// The entry of a vault in the key store: its wrapped key, its policy and its tries, all sealed.
///
/// ```
/// "SSDV", the version 1
/// the id, after its length in 32 bits
/// the rest, sealed by the device's key for this id: see `sealedPart`
/// SHA-256 of all bytes before, truncated to 8
/// ```
struct VaultRecord {
    /// The stage of the vault's life.
    enum State: UInt8 {
        /// The database may not exist yet, so the vault counts as nonexistent.
        case creating = 1
        case ready
        /// The key is gone; the files may still exist.
        case deleted
        case selfDestructed
        /// Self-destructed, and the app was notified; stays so that every caller learns why the
        /// vault is gone.
        case ended

        /// Whether the key is gone.
        var isDestroyed: Bool { self == .deleted || isSelfDestructed }

        /// Whether too many wrong passwords are the reason.
        var isSelfDestructed: Bool { self == .selfDestructed || self == .ended }
    }

    var state: State
    /// 16 random bytes, which differ from those of any other vault with the same id.
    let incarnation: Data
    var tries = PasswordTries()
    /// Seconds since 1970.
    var passwordSetAt: Int64 = 0
    /// The latest date that an unlock has seen, in seconds since 1970; 0 if there was none.
    var lastDate: Int64 = 0
    /// The database's generation after the last unlock.
    var generation: Int64 = 0
    var usesDefaultPassword = false
    /// Contains no nil values.
    var policy: DataVaultPasswordPolicy
    /// The vault's key, wrapped by the password; nil unless the vault is ready.
    var keys: WrappedKeySet?
    /// Another key, wrapped by the password, that the database may have already; nil unless the key
    /// is being changed, or that was interrupted.
    var nextKeys: WrappedKeySet?
    /// The bytes in the key store, unique to this record because they are sealed with a random
    /// nonce.
    ///
    /// Two after a failed store: either can be there.
    var stored: [Data] = []

    static let incarnationLength = 16
    private static let magic: StaticString = "SSDV"
    private static let version: UInt8 = 1
    private static let lengths = 64...8192

    init(creatingWith policy: DataVaultPasswordPolicy) {
        state = .creating
        incarnation = Data(RandomBytes.make(Self.incarnationLength))
        self.policy = policy
    }

    /// Returns the record of the same vault after its key was destroyed.
    func destroyed(_ state: State) -> VaultRecord {
        var record = self
        record.state = state
        (record.keys, record.nextKeys) = (nil, nil)
        return record
    }

    /// The next key is the vault's.
    mutating func finishRekey() { (keys, nextKeys) = (nextKeys ?? keys, nil) }

    /// How many more wrong passwords the vault accepts; nil without a limit.
    ///
    /// At least one, even if the process was killed while the last one was checked.
    var triesLeft: Int? {
        policy.retryLimit == 0 ? nil : max(1, policy.retryLimit - Int(clamping: tries.count))
    }

    /// Whether the try counted last destroys the vault if its password is wrong.
    var isOutOfTries: Bool {
        policy.retryLimit > 0 && Int(clamping: tries.count) >= policy.retryLimit
    }

    /// The basis on which a right password was found unacceptable: it changes with the password and
    /// the policy.
    var judgement: Judgement { Judgement(policy: policy, keys: keys?.bytes) }

    struct Judgement: Equatable {
        let policy: DataVaultPasswordPolicy
        let keys: Data?
    }

    /// Returns whether the password has expired at a date, or had at the last unlock: setting the
    /// clock back does not help.
    func isExpired(at now: Date) -> Bool {
        guard let days = policy.expirationDays, days > 0, !usesDefaultPassword else {
            return false
        }
        let age = max(now.timeIntervalSince1970, Double(lastDate)) - Double(passwordSetAt)
        return age >= Double(days) * 86_400
    }

    // MARK: - Bytes

    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, `.notAuthentic`.
    init(bytes: Data, of id: String, key: DataEncryptionKey) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: Self.version, lengths: Self.lengths)
        guard try reader.part().elementsEqual(id.utf8) else {
            throw EnvelopeError.damaged(reason: "the record belongs to another vault")
        }
        let sealed = Data(try reader.part())
        try reader.expectEnd()
        try self.init(
            sealedPart: key.open(
                sealed, table: "datavault", column: "record", row: .text(id)))
        stored = [bytes]
    }

    /// Returns the id in a record's bytes, without examining the rest.
    static func id(inBytes bytes: Data) throws -> String {
        var reader = try RecordFrame.open(bytes, magic, version: version, lengths: lengths)
        return String(decoding: try reader.part(), as: UTF8.self)
    }

    func bytes(of id: String, key: DataEncryptionKey) throws -> Data {
        var writer = RecordFrame.begin(Self.magic, version: Self.version)
        writer.part(id)
        writer.part(
            try key.seal(sealedPart, table: "datavault", column: "record", row: .text(id)))
        return RecordFrame.end(writer)
    }

    private var sealedPart: Data {
        var writer = ByteWriter(capacity: 512)
        writer.byte(state.rawValue)
        writer.raw(incarnation)
        writer.integer(tries.count)
        writer.integer(UInt64(bitPattern: passwordSetAt))
        let flags = [
            usesDefaultPassword, policy.defaultPasswordAllowed, policy.hasDigits, policy.hasUpper,
            policy.hasLower, policy.hasSpecial, policy.refusesRollback,
        ]
        writer.byte(flags.enumerated().reduce(0) { $0 | ($1.element ? 1 << $1.offset : 0) })
        for number in [
            policy.minLength, policy.minUniqueChars, policy.expirationDays ?? 0,
            policy.lockTimeout ?? 0, policy.retryLimit,
        ] { writer.integer(UInt32(truncatingIfNeeded: number)) }
        writer.part(keys?.bytes ?? Data())
        writer.integer(UInt32(truncatingIfNeeded: policy.retryDelay))
        tries.writeLast(to: &writer)
        writer.integer(UInt64(bitPattern: lastDate))
        writer.integer(UInt64(bitPattern: generation))
        writer.part(nextKeys?.bytes ?? Data())
        return Data(writer.bytes)
    }

    private init(sealedPart: Data) throws {
        var reader = ByteReader(ofRecord: [UInt8](sealedPart)[...])
        guard let state = State(rawValue: try reader.byte()) else {
            throw EnvelopeError.damaged(reason: "the state of the vault is unknown")
        }
        self.state = state
        incarnation = Data(try reader.take(Self.incarnationLength))
        let count = try reader.integer(UInt32.self)
        passwordSetAt = Int64(bitPattern: try reader.integer(UInt64.self))
        let flags = try reader.byte()
        func flag(_ bit: Int) -> Bool { flags >> bit & 1 == 1 }
        usesDefaultPassword = flag(0)
        policy = DataVaultPasswordPolicy()
        policy.defaultPasswordAllowed = flag(1)
        policy.hasDigits = flag(2)
        policy.hasUpper = flag(3)
        policy.hasLower = flag(4)
        policy.hasSpecial = flag(5)
        policy.refusesRollback = flag(6)
        policy.minLength = try reader.number()
        policy.minUniqueChars = try reader.number()
        policy.expirationDays = try reader.number()
        policy.lockTimeout = try reader.number()
        policy.retryLimit = try reader.number()
        let set = Data(try reader.part())
        policy.retryDelay = try reader.number()
        tries = PasswordTries(count: count, last: try PasswordTries.last(from: &reader))
        lastDate = Int64(bitPattern: try reader.integer(UInt64.self))
        generation = Int64(bitPattern: try reader.integer(UInt64.self))
        guard lastDate >= 0, (0..<Int64.max).contains(generation) else {
            throw EnvelopeError.damaged(reason: "the last unlock is impossible")
        }
        let nextSet = Data(try reader.part())
        try reader.expectEnd()
        keys = set.isEmpty ? nil : try WrappedKeySet(bytes: set)
        nextKeys = nextSet.isEmpty ? nil : try WrappedKeySet(bytes: nextSet)
        guard (keys != nil) == (state == .ready), nextKeys == nil || keys != nil else {
            throw EnvelopeError.damaged(
                reason: "the vault's key and its state contradict each other")
        }
    }
}

extension ByteReader {
    /// Reads a 32-bit number, which an `Int` of 32 bits may not hold.
    fileprivate mutating func number() throws -> Int {
        guard let number = Int(exactly: try integer(UInt32.self)) else {
            throw EnvelopeError.damaged(reason: "a number is too large")
        }
        return number
    }
}
