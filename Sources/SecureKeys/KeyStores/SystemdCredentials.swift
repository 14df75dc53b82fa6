internal import Foundation
internal import SecureStoragePlatform

/// The credentials that systemd passes to a service, as its [documentation
/// ](https://systemd.io/CREDENTIALS/) describes: secrets in files that only the service can
/// read, in memory.
///
/// A credential is encrypted on the disk if it was made with `systemd-creds encrypt`, by a key
/// of the machine, of its TPM 2, or of both: a copied disk does not contain it. To keep a
/// service's secrets in a ``FileKeyStore`` that is sealed by one:
///
/// ```
/// head -c 32 /dev/urandom | systemd-creds encrypt --with-key=auto \
///     --name=notes.key - /etc/credstore.encrypted/notes.key
/// ```
///
/// and in the unit, `LoadCredentialEncrypted=notes.key`.
public enum SystemdCredentials {
    /// Reads a credential.
    ///
    /// - Parameter name: As in the unit: ASCII without a slash.
    /// - Returns: The bytes, at most 65,536.
    /// - Throws: `KeyStoreError`: `.invalidName`; `.refused` if the process is not a service with
    ///   this credential, and for a file that all users can read, or others than root and the
    ///   service can change.
    public static func secret(named name: String) throws -> SecretBytes {
        guard let directory = getenv("CREDENTIALS_DIRECTORY").map({ String(cString: $0) }) else {
            throw KeyStoreError.refused(
                reason: "$CREDENTIALS_DIRECTORY is not set, so systemd has passed no credential; "
                    + "add LoadCredentialEncrypted= to the service")
        }
        guard directory.hasPrefix("/") else {
            throw KeyStoreError.refused(
                reason: "$CREDENTIALS_DIRECTORY is not an absolute path: "
                    + KeyStoreError.quoted(directory))
        }
        guard (1...255).contains(name.utf8.count), name != ".", name != "..",
            name.utf8.allSatisfy({ (0x21...0x7e).contains($0) && $0 != UInt8(ascii: "/") })
        else {
            throw KeyStoreError.invalidName(
                reason: "\(KeyStoreError.quoted(name)) is not the name of a credential")
        }
        let path = directory + "/" + name
        do {
            return try read(path)
        } catch let error as SystemError where error.code == ENOENT {
            throw KeyStoreError.refused(
                reason: "the service has no credential \(KeyStoreError.quoted(path)); add "
                    + "LoadCredentialEncrypted=\(name) to it")
        } catch let error as SystemError {
            throw KeyStoreError.refused(
                reason: "cannot \(error.action) \(KeyStoreError.quoted(path)): "
                    + error.reason)
        }
    }

    private static func read(_ path: String) throws -> SecretBytes {
        let file = try Descriptor(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        let status = try file.status()
        func refuse(_ reason: String) -> KeyStoreError {
            .refused(reason: "\(KeyStoreError.quoted(path)) \(reason)")
        }
        guard status.st_mode & S_IFMT == S_IFREG else { throw refuse("is not a regular file") }
        // The group's bits are the mask of the access list with which systemd lets the
        // service's user in.
        guard status.st_mode & 0o027 == 0, [0, geteuid()].contains(status.st_uid) else {
            throw refuse("can be read or changed by other users")
        }
        guard status.st_size <= SecretName.maximumSecretSize else {
            throw refuse("has \(status.st_size) bytes; the limit is 65,536")
        }
        return try SecretBytes(count: Int(status.st_size)) { buffer in
            _ = try file.read(into: buffer, at: 0)
        }
    }

    /// Reads a credential that is a key.
    ///
    /// - Parameter name: As in the unit, and the key's name.
    /// - Returns: A key, for a ``FileKeyStore`` or for values.
    /// - Throws: As ``secret(named:)``; `KeyStoreError.damaged` unless it has 32 bytes.
    public static func key(named name: String) throws -> DataEncryptionKey {
        let secret = try secret(named: name)
        do {
            return try DataEncryptionKey(name: name, bytes: secret)
        } catch {
            throw KeyStoreError.damaged(
                name: name,
                reason: "a key has 32 random bytes, such as those of head -c 32 /dev/urandom; "
                    + "this one has \(secret.count)")
        }
    }
}
