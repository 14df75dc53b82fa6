import Foundation
import SecureKeys
import SecureStorage

/// Where the database's key comes from: neither an argument nor a variable, which others can read.
enum KeySource {
    /// A credential that systemd passes, by its name.
    case credential(String)
    /// A file, for machines without systemd.
    case file(String)

    private static let size = 32

    /// Reads the key.
    ///
    /// - Returns: A raw key.
    /// - Throws: `ServiceError.key`; `KeyStoreError` for a credential.
    func databaseKey() throws -> DatabaseKey {
        let bytes =
            switch self {
            case .credential(let name): try SystemdCredentials.secret(named: name)
            case .file(let path): try Self.read(path)
            }
        guard bytes.count == Self.size else {
            throw ServiceError.key(
                "it has \(bytes.count) bytes, not \(Self.size); make one with "
                    + "head -c \(Self.size) /dev/urandom")
        }
        return .raw(bytes)
    }

    private static func read(_ path: String) throws -> SecretBytes {
        do {
            // Of a link itself, not of what it leads to.
            let status = try FileManager.default.attributesOfItem(atPath: path)
            guard status[.type] as? FileAttributeType == .typeRegular else {
                throw ServiceError.key("\(path) is not a file")
            }
            guard let mode = status[.posixPermissions] as? Int, mode & 0o077 == 0 else {
                throw ServiceError.key("other users can read \(path); use chmod 600")
            }
            let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            // One byte more than a key has, to notice a longer file.
            var data = try file.read(upToCount: size + 1) ?? Data()
            return SecretBytes(erasing: &data)
        } catch let error as CocoaError {
            let reason = error.code == .fileReadNoSuchFile ? "does not exist" : "cannot be read"
            throw ServiceError.key("\(path) \(reason)")
        }
    }
}
