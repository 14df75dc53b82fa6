public import Foundation

extension WrappedKey {
    static let magic: StaticString = "SSWK"
    /// Of records of a password; all others have version 1.
    static let version: UInt8 = 2
    static let saltLength = 16
    /// The shortest record has names of one byte and no parameters; the longest has names of 255
    /// bytes and the parameters of a password.
    static let lengths = 78...611

    /// The encoded record.
    public var bytes: Data {
        var writer = Self.begin(origin)
        writer = Self.header(dataKeyName, keyEncryptionKeyName, origin, after: writer)
        writer.raw(box)
        return RecordFrame.end(writer)
    }

    /// Decodes a record.
    ///
    /// - Parameter bytes: As returned by ``bytes-swift.property``; other bytes cause an error,
    ///   never a trap.
    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, or `.unacceptableParameters`
    ///   if the record requests a key derivation that is too weak or too costly.
    public init(bytes: Data) throws {
        var (version, reader) = try RecordFrame.open(
            bytes, Self.magic, versions: 1...Self.version, lengths: Self.lengths)
        let kind = try reader.byte()
        guard (kind == 3) == (version == 2) else {
            throw EnvelopeError.damaged(
                reason: "key kind \(kind) in a record of version \(version)")
        }
        dataKeyName = try reader.name()
        keyEncryptionKeyName = try reader.name()
        switch kind {
        case 0:
            origin = .key
        case 1, 3:
            let exponent = try reader.byte()
            let blockSize = try reader.integer(UInt32.self)
            let parallelism = try reader.integer(UInt32.self)
            let parameters = try ScryptParameters(
                costExponent: Int(exponent), blockSize: Int(blockSize),
                parallelism: Int(parallelism))
            let salt = Data(try reader.take(Self.saltLength))
            origin =
                kind == 1
                ? .earlierPassword(parameters, salt: salt) : .password(parameters, salt: salt)
        case 2:
            origin = .recoveryCode(salt: Data(try reader.take(Self.saltLength)))
        default:
            throw EnvelopeError.damaged(reason: "key kind \(kind) is unknown")
        }
        box = Data(try reader.take(Self.boxLength))
        try reader.expectEnd()
    }

    /// Returns the beginning of the record, which its ciphertext is authenticated with.
    static func header(_ dataKey: String, _ key: String, _ origin: Origin) -> [UInt8] {
        header(dataKey, key, origin, after: begin(origin)).bytes
    }

    private static func begin(_ origin: Origin) -> ByteWriter {
        if case .password = origin { return RecordFrame.begin(magic, version: version) }
        return RecordFrame.begin(magic, version: 1)
    }

    private static func header(
        _ dataKey: String, _ key: String, _ origin: Origin, after begin: ByteWriter
    ) -> ByteWriter {
        var writer = begin
        switch origin {
        case .key: writer.byte(0)
        case .earlierPassword: writer.byte(1)
        case .recoveryCode: writer.byte(2)
        case .password: writer.byte(3)
        }
        writer.name(dataKey)
        writer.name(key)
        switch origin {
        case .key:
            break
        case .password(let parameters, let salt), .earlierPassword(let parameters, let salt):
            writer.byte(UInt8(truncatingIfNeeded: parameters.costExponent))
            writer.integer(UInt32(truncatingIfNeeded: parameters.blockSize))
            writer.integer(UInt32(truncatingIfNeeded: parameters.parallelism))
            writer.raw(salt)
        case .recoveryCode(let salt):
            writer.raw(salt)
        }
        return writer
    }
}
