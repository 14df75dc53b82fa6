internal import Crypto
internal import Foundation
internal import SecureStoragePlatform

/// The contents of one file of a ``FileKeyStore``.
///
/// ```
/// offset  bytes
///      0      8  "SSKEY", 0, 0, the version: 2 if the secret is sealed, otherwise 1
///      8      2  n, the length of the name, big-endian
///     10      4  s, the length of the secret, big-endian
///     14      n  the name
///   14+n      s  the secret
/// 14+n+s     32  SHA-256 of all bytes before
/// ```
///
/// The file is named after the SHA-256 of the secret's name, in hex. All file names thus have the
/// same length and use no characters that a file system could treat as equal to others, and the
/// file name verifies the name inside.
enum KeyFile {
    private static let magic = Data("SSKEY\0\0".utf8)
    private static let headerSize = 14
    private static let checksumSize = SHA256.byteCount
    private static let suffix = ".key"

    /// The number of bytes at the beginning of a file that is certain to include its name.
    static let nameRange = headerSize + SecretName.maximumLength
    static let maximumSize =
        nameRange + maximumSecretSize(isSealed: true) + checksumSize

    private static func maximumSecretSize(isSealed: Bool) -> Int {
        SecretName.maximumSecretSize + (isSealed ? DataEncryptionKey.valueOverhead : 0)
    }

    static func fileName(of name: SecretName) -> String {
        Hex.text(SHA256.hash(data: name.utf8)) + suffix
    }

    /// Returns whether a file belongs to the store, in whichever case the file system reports its
    /// name.
    static func isFileName(_ fileName: String) -> Bool {
        let bytes = fileName.lowercased().utf8
        return bytes.count == 2 * SHA256.byteCount + suffix.utf8.count
            && fileName.lowercased().hasSuffix(suffix)
            && bytes.prefix(2 * SHA256.byteCount).allSatisfy {
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                    || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains($0)
            }
    }

    /// Returns the file of a secret, sealed for its name if a key is given.
    static func contents(
        _ name: SecretName, _ plain: SecretBytes, sealedWith key: DataEncryptionKey?
    ) throws -> SecretBytes {
        let secret =
            try key.map {
                SecretBytes(
                    copying: try $0.seal(
                        plain, table: table, column: column, row: .text(name.text)))
            } ?? plain
        var header = magic
        header.append(key == nil ? 1 : 2)
        header.append(contentsOf: bigEndian(UInt32(name.utf8.count), bytes: 2))
        header.append(contentsOf: bigEndian(UInt32(secret.count), bytes: 4))
        header.append(name.utf8)
        let checked = header.count + secret.count
        return SecretBytes(count: checked + checksumSize) { file in
            file.copyBytes(from: header)
            secret.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: file[header.count...]).copyMemory(from: $0)
            }
            let checksum = SHA256.hash(data: UnsafeRawBufferPointer(rebasing: file[..<checked]))
            checksum.withUnsafeBytes {
                UnsafeMutableRawBufferPointer(rebasing: file[checked...]).copyMemory(from: $0)
            }
        }
    }

    /// The reason why a file's bytes are not those that were stored.
    struct Damage: Error {
        let reason: String

        init(_ reason: String) { self.reason = reason }
    }

    /// Returns the name in the file's first bytes, verified against `fileName`.
    static func name(inFile fileName: String, _ bytes: UnsafeRawBufferPointer) throws(Damage)
        -> SecretName
    {
        let (nameLength, _) = try lengths(bytes)
        guard bytes.count >= headerSize + nameLength else { throw Damage("the file was cut off") }
        let utf8 = bytes[headerSize..<headerSize + nameLength]
        guard let text = String(bytes: utf8, encoding: .utf8), let name = try? SecretName(text),
            Self.fileName(of: name) == fileName.lowercased()
        else { throw Damage("the stored name does not match the file name") }
        return name
    }

    /// The place that a sealed secret is bound to, with its name as the row.
    private static let (table, column) = ("key store", "secret")

    /// Opens the sealed secret of a name.
    static func open(
        _ sealed: SecretBytes, of name: SecretName, with key: DataEncryptionKey
    ) throws -> SecretBytes {
        try sealed.withUnsafeBytes {
            try key.openSecret(Data($0), table: table, column: column, row: .text(name.text))
        }
    }

    /// Returns the secret in a complete file, and whether it is sealed.
    static func secret(
        of name: SecretName, _ file: SecretBytes
    ) throws(Damage) -> (bytes: SecretBytes, isSealed: Bool) {
        let result: Result<(bytes: SecretBytes, isSealed: Bool), Damage> = file.withUnsafeBytes {
            bytes in
            Result { () throws(Damage) in
                let (nameLength, secretLength) = try lengths(bytes)
                let start = headerSize + nameLength
                let checked = start + secretLength
                guard bytes.count == checked + checksumSize else {
                    throw Damage("it has \(bytes.count) bytes, not \(checked + checksumSize)")
                }
                let checksum = SHA256.hash(
                    data: UnsafeRawBufferPointer(rebasing: bytes[..<checked]))
                guard checksum == UnsafeRawBufferPointer(rebasing: bytes[checked...]) else {
                    throw Damage("its checksum does not match")
                }
                guard bytes[headerSize..<start].elementsEqual(name.utf8) else {
                    throw Damage("the file belongs to another name")
                }
                let secret = SecretBytes(
                    copying: UnsafeRawBufferPointer(rebasing: bytes[start..<checked]))
                return (secret, bytes[7] == 2)
            }
        }
        return try result.get()
    }

    private static func lengths(_ bytes: UnsafeRawBufferPointer) throws(Damage) -> (Int, Int) {
        guard bytes.count >= headerSize else { throw Damage("the file was cut off") }
        guard bytes.prefix(7).elementsEqual(magic) else {
            throw Damage("the file is not a key file")
        }
        guard (1...2).contains(bytes[7]) else {
            throw Damage("the file has version \(bytes[7]); a newer program may read it")
        }
        let name = bytes[8..<10].reduce(0) { $0 << 8 | Int($1) }
        let secret = bytes[10..<14].reduce(0) { $0 << 8 | Int($1) }
        guard (1...SecretName.maximumLength).contains(name),
            (1...maximumSecretSize(isSealed: bytes[7] == 2)).contains(secret)
        else { throw Damage("its lengths are impossible") }
        return (name, secret)
    }

    private static func bigEndian(_ value: UInt32, bytes count: Int) -> some Sequence<UInt8> {
        withUnsafeBytes(of: value.bigEndian) { Array($0) }.suffix(count)
    }
}
