internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The derivation of a key from a vault's password: scrypt's parameters and a salt, as the key
/// store holds them.
///
/// ```
/// offset  bytes
///      0      5  "SSVP", the version: 1
///      5      1  the exponent of N
///      6      8  r and p, 32 bits each, big-endian
///     14     16  the salt
///     30      8  SHA-256 of all bytes before, truncated
/// ```
struct PasswordDerivation: Equatable {
    let parameters: ScryptParameters
    let salt: Data

    static let saltLength = 16
    private static let magic: StaticString = "SSVP"
    static let length = 38

    init(parameters: ScryptParameters, salt: Data) {
        self.parameters = parameters
        self.salt = salt
    }

    /// Returns the derivation with the same salt to be preferred, given the requested parameters;
    /// nil if this one is no weaker.
    func strengthened(to wanted: ScryptParameters) -> PasswordDerivation? {
        parameters.isWeaker(than: wanted)
            ? PasswordDerivation(parameters: wanted, salt: salt) : nil
    }

    /// Creates the derivation of a wrapped key; nil if it is not a password's.
    init?(of key: WrappedKey) {
        switch key.origin {
        case .password(let parameters, let salt):
            self.init(parameters: parameters, salt: salt)
        case .key, .recoveryCode: return nil
        }
    }

    /// Creates a derivation with a random salt.
    static func random(_ parameters: ScryptParameters) -> PasswordDerivation {
        PasswordDerivation(parameters: parameters, salt: Data(RandomBytes.make(saltLength)))
    }

    /// - Throws: `EnvelopeError`: `.damaged`, `.unsupportedVersion`, `.unacceptableParameters`.
    init(bytes: Data) throws {
        var reader = try RecordFrame.open(
            bytes, Self.magic, version: 1, lengths: Self.length...Self.length)
        let exponent = try reader.byte()
        let blockSize = try reader.integer(UInt32.self)
        let parallelism = try reader.integer(UInt32.self)
        parameters = try ScryptParameters(
            costExponent: Int(exponent), blockSize: Int(blockSize), parallelism: Int(parallelism))
        salt = Data(try reader.take(Self.saltLength))
        try reader.expectEnd()
    }

    var bytes: Data {
        var writer = RecordFrame.begin(Self.magic, version: 1)
        writer.byte(UInt8(truncatingIfNeeded: parameters.costExponent))
        writer.integer(UInt32(truncatingIfNeeded: parameters.blockSize))
        writer.integer(UInt32(truncatingIfNeeded: parameters.parallelism))
        writer.raw(salt)
        return RecordFrame.end(writer)
    }

    /// - Throws: `SecureVaultError`: `.invalidPassword` for an empty password,
    ///   `.generalCryptoError` for a salt that is too short or when memory is insufficient.
    func key(of password: Data) throws -> Data {
        guard !password.isEmpty else { throw SecureVaultError.invalidPassword }
        guard salt.count >= Self.saltLength else { throw SecureVaultError.generalCryptoError }
        do {
            return try KeyDerivation.scrypt(
                PasswordText.scryptInput(SecretBytes(copying: password)), salt: Array(salt),
                cost: parameters.cost,
                blockSize: parameters.blockSize, parallelism: parameters.parallelism
            ).copied
        } catch {
            throw SecureVaultError.generalCryptoError
        }
    }
}
