internal import Foundation

/// Finds the format under which a key is right, where it is not the given one.
///
/// Tries other page sizes and HMACs, no HMACs, and the formats of SQLCipher 1, 2 and 3.
struct FormatSearch {
    let path: String
    let key: EncryptionKey
    /// The given configuration, which does not fit.
    let cipher: CipherConfiguration

    /// Tries the first page under all formats, and more pages under those of SQLCipher 2 and 3.
    ///
    /// For a passphrase this costs 64,000 and 4000 rounds of PBKDF2-HMAC-SHA1, and SQLCipher 4's
    /// where `cipher` has other ones.
    ///
    /// - Parameter given: The key as derived with `cipher`.
    /// - Returns: nil when the key is right under none of them.
    /// - Throws: When the file cannot be read.
    func run(_ given: DerivedKey) throws -> PageFormat? {
        if let format = try match(given, PageFormat(cipher)) { return format }
        // A file with a plaintext header was made by SQLCipher 4, and its salt is elsewhere.
        guard cipher.plaintextHeaderSize == 0 else { return nil }
        var tried = [PageFormat(cipher)]
        for format in [
            PageFormat(legacy: 3), PageFormat(legacy: 2), PageFormat(CipherConfiguration()),
        ] where !tried.contains(where: { $0.hasSameDerivation(as: format) }) {
            tried.append(format)
            guard let derived = try derive(format) else { return nil }
            if let format = try match(derived, format) { return format }
        }
        return nil
    }

    /// Derives the key for a format; nil for a file too short to have a salt.
    private func derive(_ format: PageFormat) throws -> DerivedKey? {
        var salt = try RawFile(path).bytes(at: 0, count: CipherConfiguration.saltLength) ?? []
        guard salt.count == CipherConfiguration.saltLength else { return nil }
        if case .rawWithSalt(_, let given) = key { salt = given }
        var cipher = CipherConfiguration()
        (cipher.kdfAlgorithm, cipher.kdfIterations) = (format.kdf, format.kdfIterations)
        return try key.derived(salt: salt, cipher: cipher)
    }

    /// Returns the format with this key derivation under which the file makes sense.
    private func match(_ derived: DerivedKey, _ derivation: PageFormat) throws -> PageFormat? {
        for pageSize in [1024, 2048, 4096, 8192, 16384, 32768, 65536] {
            let view = try PageView(path, pageSize: pageSize)
            for format in derivation.candidates(pageSize: pageSize)
            where format != PageFormat(cipher) {
                if try matches(view, derived, format) { return format.named(for: key) }
            }
        }
        return nil
    }

    private func matches(
        _ view: PageView, _ derived: DerivedKey, _ format: PageFormat
    ) throws -> Bool {
        let pages = try PageCipher(derived, format: format)
        guard format.hmac == nil else {
            let scan = PageScan(view: view, key: derived, cipher: pages)
            return try scan.knowsKey(lookingAt: format.legacyVersion == nil ? 1 : 64)
        }
        // Nothing authenticates these pages: only their content can make sense.
        guard let first = try view.page(1),
            let content = first.withUnsafeBytes({ pages.decrypt($0, number: 1) })
        else { return false }
        let header = PlainHeader(content)
        return header.isReadable && header.pageSize == format.pageSize
    }
}

extension PageFormat {
    /// Whether a passphrase becomes the same key.
    ///
    /// The key of the HMACs is derived from any key, a raw one too.
    fileprivate func hasSameDerivation(as other: PageFormat) -> Bool {
        kdf == other.kdf && kdfIterations == other.kdfIterations
    }

    /// Returns the formats that a file with this key derivation and page size can have.
    fileprivate func candidates(pageSize: Int) -> [PageFormat] {
        var format = self
        format.pageSize = pageSize
        let hmacs = CipherConfiguration.HMACAlgorithm.allCases.map { hmac in
            var format = format
            format.hmac = hmac
            return format
        }
        guard plaintextHeaderSize == 0 else { return hmacs }
        var without = format
        without.hmac = nil
        guard kdf == .pbkdf2HMACSHA1, kdfIterations <= 4000 else { return hmacs + [without] }
        // The variants of the first programs with SQLCipher 2.0.
        format.hmac = .sha1
        let variants = [
            (true, Self.usualSaltMask), (false, 0), (true, 0),
        ].map { isBigEndian, mask in
            var format = format
            (format.hasBigEndianNumbers, format.saltMask) = (isBigEndian, mask)
            return format
        }
        return hmacs + variants + [without]
    }

    /// Returns this format as that of the oldest version to which it can belong.
    ///
    /// Without HMACs, nothing shows how a raw key would have been derived.
    fileprivate func named(for key: EncryptionKey) -> PageFormat {
        if case .passphrase = key { return self }
        guard hmac == nil else { return self }
        var format = PageFormat(legacy: 1)
        format.pageSize = pageSize
        return format
    }

    // MARK: - What it is

    /// 1, 2 or 3 for the defaults of that version of SQLCipher.
    var legacyVersion: Int? { [3, 2, 1].first { self == PageFormat(legacy: $0) } }

    /// The difference from other files of that version, for people; nil for none.
    var variant: String? {
        switch (hasBigEndianNumbers, saltMask == Self.usualSaltMask) {
        case (false, true): nil
        case (true, true): "with big-endian page numbers"
        case (_, false): "a beta of 2.0"
        }
    }

    /// Whether the engine can be set to read such a file.
    ///
    /// The salt mask is process-wide, so it is left alone.
    var isReadByEngine: Bool { saltMask == Self.usualSaltMask }

    func finding(_ given: CipherConfiguration) -> FileDiagnosis.Finding {
        if let legacyVersion { return .legacyFormat(version: legacyVersion) }
        if variant != nil { return .legacyFormat(version: 2) }
        guard let hmac else { return .withoutHMAC }
        var cipher = given
        (cipher.pageSize, cipher.hmacAlgorithm) = (pageSize, hmac)
        (cipher.kdfAlgorithm, cipher.kdfIterations) = (kdf, kdfIterations)
        return .otherCipher(cipher)
    }

    /// Returns the evidence, for people.
    func evidence(_ given: CipherConfiguration) -> String {
        let version = legacyVersion ?? (variant == nil ? nil : 2)
        if let version {
            return "the key opens it with the settings of SQLCipher \(version)"
                + (variant.map { ", \($0)" } ?? "")
        }
        let derivation =
            kdf == given.kdfAlgorithm && kdfIterations == given.kdfIterations
            ? "" : ", and \(kdf.rawValue) with \(kdfIterations) iterations,"
        guard let hmac else {
            return
                "decrypted as pages of \(pageSize) bytes without HMAC\(derivation) it is readable"
        }
        return "with pages of \(pageSize) bytes and \(hmac.rawValue)\(derivation) one does"
    }
}
