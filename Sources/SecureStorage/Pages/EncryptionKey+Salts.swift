internal import Foundation

extension EncryptionKey {
    /// Returns the salt from the key or from the configuration; nil when it is elsewhere.
    func fixedSalt(_ cipher: CipherConfiguration) -> [UInt8]? {
        if case .rawWithSalt(_, let salt) = self { return salt }
        return cipher.plaintextHeaderSize > 0 ? cipher.salt.map(Array.init) : nil
    }

    /// Returns the possible salts of a file that does not begin with its salt; nil when it does.
    ///
    /// - Throws: When the salt file is needed and missing or damaged.
    func salts(outOf file: DatabaseFile, _ cipher: CipherConfiguration) throws -> [[UInt8]]? {
        if let salt = fixedSalt(cipher) { return [salt] }
        guard cipher.plaintextHeaderSize > 0 else { return nil }
        let saltFile = SaltFile(of: file)
        guard let salts = try saltFile.salts() else { throw saltFile.missing }
        return salts
    }

    /// Returns the key with the salt under which the first page of the file at `path` is authentic.
    ///
    /// A single salt, and the first one if none fits, is used unchecked: the engine decides whether
    /// the key is right.
    func derived(
        choosingFrom salts: [[UInt8]], for path: String, _ cipher: CipherConfiguration
    ) throws -> DerivedKey {
        if salts.count > 1, let page = try PageView(path, pageSize: cipher.pageSize).page(1),
            let derived = try derived(provedBy: page, salts, cipher)
        {
            return derived
        }
        return try derived(salt: salts.first ?? [], cipher: cipher)
    }

    /// Returns the key with the first of the salts under which a first page is authentic; nil when
    /// none is right.
    func derived(
        provedBy page: [UInt8], _ salts: [[UInt8]], _ cipher: CipherConfiguration
    ) throws -> DerivedKey? {
        for (index, salt) in salts.enumerated() where !salts[..<index].contains(salt) {
            let derived = try derived(salt: salt, cipher: cipher)
            let pages = try PageCipher(derived, cipher)
            if pages.isAuthentic(page, number: 1) { return derived }
        }
        return nil
    }
}
