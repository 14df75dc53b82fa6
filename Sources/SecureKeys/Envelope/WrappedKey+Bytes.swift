public import Foundation
internal import SecureStoragePlatform

extension WrappedKey {
    static let magic: StaticString = "SSWK"
    static let version: UInt8 = 1
    static let commitmentLength = 32
    static let saltLength = 16
    /// The shortest record has names of one byte and no parameters; the longest has names of 255
    /// bytes and the parameters of a password.
    static let lengths = 110...643

    /// The encoded record.
    public var bytes: Data {
        var writer = Self.begun(dataKeyName, keyEncryptionKeyName, origin)
        writer.raw(box)
        writer.raw(commitment)
        return RecordFrame.end(writer)
    }

    /// Decodes a record.
    ///
    /// - Parameter bytes: As returned by ``bytes-swift.property``; other bytes cause an error,
    ///   never a trap.
    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, or `.unacceptableParameters`
    ///   if the record requests a key derivation that is too weak or too costly.
    public init(bytes: Data) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: Self.version, lengths: Self.lengths)
        let kind = try reader.byte()
        dataKeyName = try reader.name()
        keyEncryptionKeyName = try reader.name()
        switch kind {
        case 0:
            origin = .key
        case 1:
            let exponent = try reader.byte()
            let blockSize = try reader.integer(UInt32.self)
            let parallelism = try reader.integer(UInt32.self)
            let parameters = try ScryptParameters(
                costExponent: Int(exponent), blockSize: Int(blockSize),
                parallelism: Int(parallelism))
            origin = .password(parameters, salt: Data(try reader.take(Self.saltLength)))
        case 2:
            origin = .recoveryCode(salt: Data(try reader.take(Self.saltLength)))
        default:
            throw EnvelopeError.damaged(reason: "key kind \(kind) is unknown")
        }
        box = Data(try reader.take(Self.boxLength))
        commitment = Data(try reader.take(Self.commitmentLength))
        try reader.expectEnd()
    }

    /// Returns the beginning of the record, which its ciphertext is authenticated with.
    static func header(_ dataKey: String, _ key: String, _ origin: Origin) -> [UInt8] {
        begun(dataKey, key, origin).bytes
    }

    private static func begun(
        _ dataKey: String, _ key: String, _ origin: Origin
    ) -> ByteWriter {
        var writer = RecordFrame.begin(magic, version: version)
        switch origin {
        case .key: writer.byte(0)
        case .password: writer.byte(1)
        case .recoveryCode: writer.byte(2)
        }
        writer.name(dataKey)
        writer.name(key)
        switch origin {
        case .key:
            break
        case .password(let parameters, let salt):
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
