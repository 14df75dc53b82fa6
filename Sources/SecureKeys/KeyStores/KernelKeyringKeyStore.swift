internal import Foundation
internal import SecureStoragePlatform

/// Secrets in the memory of the Linux kernel, for all processes of one user, until the machine is
/// restarted.
///
/// They are never on a disk, not even in swap space, and no other user but root can read them: for
/// a key that a user has unlocked once, and that later processes need. They are lost at the latest
/// when the machine stops, and may be lost when the last process of the user ends
/// (user-keyring(7)): do not use this store for the only copy of a key.
///
/// Each entry is a keyring with the secret in parts; it replaces the one of its name in one step.
/// The system limits the memory of all keys of a user other than root, usually to 20,000 bytes.
/// Needs Linux 5.3 and a container that permits keyctl(2); on other systems every call throws
/// ``KeyStoreError/unavailable(reason:)``.
///
/// Thread-safe.
public struct KernelKeyringKeyStore: KeyStore {
    private let service: String

    private static let partSize = 32_000

    /// Creates a store.
    ///
    /// - Parameter service: The name that distinguishes the secrets from those of other programs of
    ///   the user, such as `org.example.notes`: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`: `.invalidName`; `.unavailable`.
    public init(service: String) throws {
        self.service = "securestorage " + Hex.text(try SecretName(service).utf8)
        _ = try Self.translating { try keyring() }
    }

    /// Stores a secret and replaces any existing one of that name.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError`; `.refused` if the user's keys take too much memory.
    public func store(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { keyring, entry, _ in try keyring.link(entry) }
    }

    /// Stores a secret under a name that has none yet; atomic across processes.
    ///
    /// - Parameters:
    ///   - secret: 1 to 65,536 bytes.
    ///   - name: 1 to 255 bytes of UTF-8.
    /// - Throws: `KeyStoreError.alreadyExists`.
    public func insert(_ secret: SecretBytes, forName name: String) throws {
        try write(secret, name) { keyring, entry, draft in
            do {
                try keyring.insert(entry, from: draft)
            } catch let error as SystemError where error.code == EEXIST {
                throw KeyStoreError.alreadyExists(name: name)
            }
        }
    }

    /// Reads a secret.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: The bytes as they were stored.
    /// - Throws: `KeyStoreError.notFound`, `.damaged`.
    public func read(_ name: String) throws -> SecretBytes {
        let description = try Self.description(name)
        return try Self.translating {
            for _ in 1...100 {
                guard let entry = try keyring().find("keyring", description) else {
                    throw KeyStoreError.notFound(name: name)
                }
                if let secret = try Self.secret(in: entry) { return secret }
                // Another caller has replaced the entry: its parts may be gone.
                guard try keyring().find("keyring", description)?.serial != entry.serial else {
                    throw KeyStoreError.damaged(name: name, reason: "a part of it is missing")
                }
            }
            throw KeyStoreError.unavailable(reason: "the entry is replaced again and again")
        }
    }

    /// Removes a secret.
    ///
    /// - Parameter name: 1 to 255 bytes of UTF-8.
    /// - Returns: Whether a secret existed.
    /// - Throws: `KeyStoreError`.
    @discardableResult
    public func remove(_ name: String) throws -> Bool {
        let description = try Self.description(name)
        return try Self.translating {
            while let entry = try keyring().find("keyring", description) {
                do {
                    try keyring().unlink(entry)
                    return true
                } catch let error as SystemError where KernelKeyring.isGone(error) {
                    // Replaced or removed since it was found.
                }
            }
            return false
        }
    }

    /// Returns the names that hold a secret.
    ///
    /// - Returns: The names, sorted by their bytes.
    /// - Throws: `KeyStoreError`.
    public func names() throws -> [String] {
        try Self.translating {
            try keyring().keys().compactMap { try $0.description() }
                .map { description in
                    guard let bytes = Hex.decode(description.utf8),
                        let name = try? SecretName(String(decoding: bytes, as: UTF8.self))
                    else {
                        throw KeyStoreError.damaged(
                            name: description, reason: "it is not an entry of this store")
                    }
                    return name
                }
                .sorted().map(\.text)
        }
    }

    // MARK: - Entries

    private static func description(_ name: String) throws -> String {
        Hex.text(try SecretName(name).utf8)
    }

    /// The keyring of the service; made if it does not exist.
    private func keyring() throws -> KernelKeyring {
        while true {
            if let found = try KernelKeyring.ofUser.find("keyring", service) { return found }
            try KernelKeyring.withDraft { draft in
                let made = try draft.addKeyring(service)
                do {
                    try KernelKeyring.ofUser.insert(made, from: draft)
                } catch let error as SystemError where error.code == EEXIST {
                    // Another process was faster.
                }
            }
        }
    }

    private func write(
        _ secret: SecretBytes, _ name: String,
        _ publish: (_ keyring: KernelKeyring, _ entry: KernelKeyring, _ draft: KernelKeyring) throws
            -> Void
    ) throws {
        let description = try Self.description(name)
        try SecretName.check(secret)
        try Self.translating {
            try KernelKeyring.withDraft { draft in
                let entry = try draft.addKeyring(description)
                try secret.withUnsafeBytes { bytes in
                    for (number, start) in stride(from: 0, to: bytes.count, by: Self.partSize)
                        .enumerated()
                    {
                        let end = min(start + Self.partSize, bytes.count)
                        try entry.addKey(
                            "\(number) of \(bytes.count)",
                            UnsafeRawBufferPointer(rebasing: bytes[start..<end]))
                    }
                }
                try publish(keyring(), entry, draft)
            }
        }
    }

    /// Returns the secret of an entry; nil if not all of its parts are there.
    private static func secret(in entry: KernelKeyring) throws -> SecretBytes? {
        do {
            let parts = try entry.keys()
            guard let first = parts.first, let description = try first.description(),
                let size = description.split(separator: " ").last.flatMap({ Int($0) }),
                (1...SecretName.maximumSecretSize).contains(size)
            else { return nil }
            var isWhole = true
            let secret = try SecretBytes(count: size) { buffer in
                for (number, start) in stride(from: 0, to: size, by: partSize).enumerated() {
                    guard let part = try entry.find("user", "\(number) of \(size)")?.payload(),
                        part.count == min(partSize, size - start)
                    else {
                        isWhole = false
                        return
                    }
                    part.withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: buffer[start...]).copyMemory(
                            from: $0)
                    }
                }
            }
            return isWhole ? secret : nil
        } catch let error as SystemError where KernelKeyring.isGone(error) {
            return nil
        }
    }

    private static func translating<R>(_ body: () throws -> R) throws -> R {
        do {
            return try body()
        } catch let error as SystemError {
            switch error.code {
            case EDQUOT:
                throw KeyStoreError.refused(
                    reason: "the keys of this user take too much memory; remove some, or raise "
                        + "/proc/sys/kernel/keys/maxbytes")
            case ENOSYS, EPERM, EOPNOTSUPP:
                throw KeyStoreError.unavailable(
                    reason: "this system has no keyrings in its kernel, or does not permit them: "
                        + error.reason)
            default:
                throw KeyStoreError.unavailable(
                    reason: "cannot \(error.action) in the kernel: \(error.reason)")
            }
        }
    }
}
