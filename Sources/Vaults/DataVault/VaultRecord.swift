internal import Foundation

/// What the key store keeps of a vault: its wrapped key, its policy and its tries, all of it
/// sealed.
///
/// ```
/// "SSDV", the version 1
/// the id, after its length in 32 bits
/// the rest, sealed by the device's key for this id: see `sealedPart`
/// SHA-256 of all bytes before, truncated to 8
/// ```
struct VaultRecord {
    /// Where the vault is in its life.
    enum State: UInt8 {
        /// Its database may not be there yet: it does not exist.
        case creating = 1
        case ready
        /// Its key is gone, its files may not be.
        case deleted
        case selfDestructed
        /// Self-destructed, and the app knows; stays so that all learn why the vault is no more.
        case ended

        /// Whether the key is gone.
        var isDestroyed: Bool { self == .deleted || isSelfDestructed }

        /// Whether too many wrong passwords are why.
        var isSelfDestructed: Bool { self == .selfDestructed || self == .ended }
    }

    var state: State
    /// 16 random bytes: another vault of the same id has others.
    let incarnation: Data
    /// Passwords that were tried, and not found right, since the last right one.
    var tries: UInt32 = 0
    /// Seconds since 1970.
    var passwordSetAt: Int64 = 0
    var usesDefaultPassword = false
    /// Without nil.
    var policy: DataVaultPasswordPolicy
    /// The vault's key, wrapped by the password; nil unless the vault is ready.
    var keys: WrappedKeySet?
    /// The bytes that the key store has, which no other record has, since they are sealed with a
    /// random nonce.
    ///
    /// Two after a store that has failed: either can be there.
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

    /// The record of the same vault once its key is gone.
    func destroyed(_ state: State) -> VaultRecord {
        var record = self
        record.state = state
        record.keys = nil
        return record
    }

    /// How many wrong passwords more the vault takes; nil without a limit.
    ///
    /// At least one, also when the process was killed while the last one was checked.
    var triesLeft: Int? {
        policy.retryLimit == 0 ? nil : max(1, policy.retryLimit - Int(clamping: tries))
    }

    /// Whether the try that was counted last destroys the vault when the password is wrong.
    var isOutOfTries: Bool { policy.retryLimit > 0 && Int(clamping: tries) >= policy.retryLimit }

    /// What a password that was found right, and not good, was found so by: it changes with the
    /// password and with the policy.
    var judgement: Judgement { Judgement(policy: policy, keys: keys?.bytes) }

    struct Judgement: Equatable {
        let policy: DataVaultPasswordPolicy
        let keys: Data?
    }

    /// Whether the password has expired at a date.
    func isExpired(at now: Date) -> Bool {
        guard let days = policy.expirationDays, days > 0, !usesDefaultPassword else {
            return false
        }
        let age = now.timeIntervalSince1970 - Double(passwordSetAt)
        return age >= Double(days) * 86_400
    }

    // MARK: - Bytes

    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, `.notAuthentic`.
    init(bytes: Data, of id: String, key: DataEncryptionKey) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: Self.version, lengths: Self.lengths)
        guard try reader.part().elementsEqual(id.utf8) else {
            throw EnvelopeError.damaged(reason: "the record is that of another vault")
        }
        let sealed = Data(try reader.part())
        try reader.expectEnd()
        try self.init(
            sealedPart: key.open(sealed, table: "datavault", column: "record", row: .text(id)))
        stored = [bytes]
    }

    /// The id that a record's bytes name, without a look at the rest.
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
        writer.integer(tries)
        writer.integer(UInt64(bitPattern: passwordSetAt))
        let flags = [
            usesDefaultPassword, policy.defaultPasswordAllowed, policy.hasDigits, policy.hasUpper,
            policy.hasLower, policy.hasSpecial,
        ]
        writer.byte(flags.enumerated().reduce(0) { $0 | ($1.element ? 1 << $1.offset : 0) })
        for number in [
            policy.minLength, policy.minUniqueChars, policy.expirationDays ?? 0,
            policy.lockTimeout ?? 0, policy.retryLimit,
        ] { writer.integer(UInt32(truncatingIfNeeded: number)) }
        writer.part(keys?.bytes ?? Data())
        return Data(writer.bytes)
    }

    private init(sealedPart: Data) throws {
        var reader = ByteReader([UInt8](sealedPart)[...])
        guard let state = State(rawValue: try reader.byte()) else {
            throw EnvelopeError.damaged(reason: "the state of the vault is not known")
        }
        self.state = state
        incarnation = Data(try reader.take(Self.incarnationLength))
        tries = try reader.integer(UInt32.self)
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
        policy.minLength = try reader.number()
        policy.minUniqueChars = try reader.number()
        policy.expirationDays = try reader.number()
        policy.lockTimeout = try reader.number()
        policy.retryLimit = try reader.number()
        let set = Data(try reader.part())
        try reader.expectEnd()
        keys = set.isEmpty ? nil : try WrappedKeySet(bytes: set)
        guard (keys != nil) == (state == .ready) else {
            throw EnvelopeError.damaged(reason: "the vault's key and its state contradict")
        }
    }
}

extension ByteReader {
    /// A part as `ByteWriter.part` has written it.
    fileprivate mutating func part() throws -> ArraySlice<UInt8> {
        try take(number())
    }

    /// A number of 32 bits, which an `Int` of 32 bits may not hold.
    fileprivate mutating func number() throws -> Int {
        guard let number = Int(exactly: try integer(UInt32.self)) else {
            throw EnvelopeError.damaged(reason: "a number is too large")
        }
        return number
    }
}
