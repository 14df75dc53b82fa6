internal import CSecureStoragePlatform
internal import Foundation
internal import SecureStoragePlatform

/// A keyring in the Linux kernel, by its serial number: [keyrings(7)
/// ](https://man7.org/linux/man-pages/man7/keyrings.7.html).
struct KernelKeyring {
    let serial: Int

    /// The keyring of the user, which all of the user's processes share (user-keyring(7)).
    static let ofUser = KernelKeyring(serial: -4)
    private static let ofProcess = KernelKeyring(serial: -2)

    private enum Operation: Int32 {
        case setPermissions = 5
        case describe, link = 8, unlink, search, read
        case move = 30
    }

    /// All rights for the user and for whoever reaches the key from a keyring of its own: a service
    /// may not reach the user's keyring in that way.
    private static let permissions = 0x3f3f_0000

    /// Creates a keyring that only `body` can reach, for keys that are not complete yet.
    static func withDraft<R>(_ body: (KernelKeyring) throws -> R) throws -> R {
        let draft = try ofProcess.add("keyring", "securestorage draft \(UUID())", nil)
        defer { try? ofProcess.unlink(draft) }
        return try body(draft)
    }

    /// Adds a keyring.
    func addKeyring(_ description: String) throws -> KernelKeyring {
        try add("keyring", description, nil)
    }

    /// Adds a key with a payload of at most 32,767 bytes.
    func addKey(_ description: String, _ payload: UnsafeRawBufferPointer) throws {
        _ = try add("user", description, payload)
    }

    private func add(
        _ type: String, _ description: String, _ payload: UnsafeRawBufferPointer?
    ) throws -> KernelKeyring {
        let serial = cplatform_add_key(
            type, description, payload?.baseAddress, UInt(payload?.count ?? 0), Int32(serial))
        guard serial >= 0 else { throw SystemError("add a key") }
        let key = KernelKeyring(serial: Int(serial))
        _ = try Self.call(.setPermissions, key.serial, Self.permissions)
        return key
    }

    /// Links a key here, in the place of one of the same type and description.
    func link(_ key: KernelKeyring) throws { _ = try Self.call(.link, key.serial, serial) }

    /// Removes the link of a key; its memory is overwritten and freed with the last one.
    func unlink(_ key: KernelKeyring) throws { _ = try Self.call(.unlink, key.serial, serial) }

    /// Moves a key from a temporary keyring to here.
    ///
    /// - Throws: EEXIST if there is one of the same type and description.
    func insert(_ key: KernelKeyring, from draft: KernelKeyring) throws {
        let exclusively = 1
        _ = try Self.call(.move, key.serial, draft.serial, serial, exclusively)
    }

    /// Returns the keyring or key of a description; nil if there is none.
    func find(_ type: String, _ description: String) throws -> KernelKeyring? {
        do {
            let found = try type.withCString { type in
                try description.withCString { description in
                    try Self.call(
                        .search, serial, Int(bitPattern: type), Int(bitPattern: description), 0)
                }
            }
            return KernelKeyring(serial: found)
        } catch let error as SystemError where Self.isGone(error) {
            return nil
        }
    }

    /// Returns the payload of a key; of a keyring, the serial numbers of its keys.
    func payload() throws -> SecretBytes {
        while true {
            let size = try Self.call(.read, serial)
            // The system refuses a buffer that no serial number fits into.
            guard size > 0 else { return SecretBytes(count: 0) { _ in } }
            var found = 0
            let bytes = try SecretBytes(count: size) { buffer in
                found = try Self.call(
                    .read, serial, Int(bitPattern: buffer.baseAddress), buffer.count)
            }
            // Otherwise a key was linked or removed in between.
            if found == size { return bytes }
        }
    }

    /// Returns the keys that are linked here.
    func keys() throws -> [KernelKeyring] {
        try payload().withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count - 3, by: 4).map {
                KernelKeyring(
                    serial: Int(bytes.loadUnaligned(fromByteOffset: $0, as: Int32.self)))
            }
        }
    }

    /// Returns the description of a key; nil if it is gone.
    func description() throws -> String? {
        do {
            let size = try Self.call(.describe, serial, 0, 0)
            var bytes = [UInt8](repeating: 0, count: size)
            let found = try bytes.withUnsafeMutableBytes {
                try Self.call(.describe, serial, Int(bitPattern: $0.baseAddress), $0.count)
            }
            // Type, user, group, permissions and description, with a NUL at the end.
            guard found <= size else { return nil }
            let text = String(decoding: bytes.prefix(found).prefix { $0 != 0 }, as: UTF8.self)
            return text.split(separator: ";", maxSplits: 4).last.map(String.init)
        } catch let error as SystemError where Self.isGone(error) {
            return nil
        }
    }

    /// Whether a key was not found, or is no longer there.
    static func isGone(_ error: SystemError) -> Bool {
        [noKey, keyRevoked, keyExpired, ENOENT].contains(error.code)
    }

    // Linux's numbers, which other systems lack.
    private static let noKey: Int32 = 126
    private static let keyExpired: Int32 = 127
    private static let keyRevoked: Int32 = 128

    private static func call(
        _ operation: Operation, _ first: Int, _ second: Int = 0, _ third: Int = 0,
        _ fourth: Int = 0
    ) throws -> Int {
        let result = cplatform_keyctl(operation.rawValue, first, second, third, fourth)
        guard result >= 0 else { throw SystemError("use a key") }
        return result
    }
}
