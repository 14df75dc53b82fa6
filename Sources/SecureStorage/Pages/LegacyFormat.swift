internal import Foundation

/// The formats of SQLCipher 1, 2 and 3, recognised by their pages.
enum LegacyFormat {
    /// Whether the file at `path` was written with `key` and the defaults of that version.
    ///
    /// Costs 64,000 rounds of PBKDF2-HMAC-SHA1 for a passphrase and version 3, else 4000.
    static func matches(_ path: String, key: EncryptionKey, version: Int) throws -> Bool {
        let format = PageFormat(legacy: version)
        let view = try PageView(path, pageSize: format.pageSize)
        guard let first = try view.page(1) else { return false }
        var salt = Array(first.prefix(CipherConfiguration.saltLength))
        if case .rawWithSalt(_, let given) = key { salt = given }
        var cipher = CipherConfiguration()
        (cipher.kdfAlgorithm, cipher.kdfIterations) = (format.kdf, format.kdfIterations)
        let derived = try key.derived(salt: salt, cipher: cipher)
        let pages = try PageCipher(derived, format: format)
        guard format.hmac == nil else {
            return try PageScan(view: view, key: derived, cipher: pages).knowsKey(lookingAt: 64)
        }
        // Nothing authenticates the pages of version 1: only sense does.
        guard let content = first.withUnsafeBytes({ pages.decrypt($0, number: 1) }) else {
            return false
        }
        return PlainHeader(content).isReadable
    }
}
