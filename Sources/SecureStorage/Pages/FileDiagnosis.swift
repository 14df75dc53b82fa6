/// The diagnosis of a file, from evidence.
///
/// ```swift
/// let diagnosis = try SecureDatabaseStore.diagnose(at: url, key: .passphrase(passphrase))
/// if case .legacyFormat(let version) = diagnosis.finding {
///     print("written by SQLCipher \(version)")
/// }
/// print(diagnosis)  // the reasons, a line each
/// ```
public struct FileDiagnosis: Sendable, Equatable, CustomStringConvertible {
    /// The possible findings about a file.
    public enum Finding: Sendable, Equatable {
        /// The key opens the file, and every page is as it was written.
        case ok
        /// The file does not exist.
        case missing
        /// The file has 0 or 1 byte.
        case empty
        /// A plain SQLite database.
        case notEncrypted
        /// Encrypted, but its first bytes are readable: without its salt nothing more can be
        /// determined.
        case plaintextHeader
        /// Encrypted, or random bytes: no key was given, and only a key can decide.
        case keyNeeded
        /// No page of the file was written with this key.
        case wrongKey
        /// The key opens the file, which has the format of SQLCipher 1, 2 or 3, also in the
        /// variants of the first programs with SQLCipher 2.0.
        ///
        /// With a raw key, 2 and 3 are the same; the version is then 3.
        case legacyFormat(version: Int)
        /// The key opens the file with this cipher configuration instead of the given one.
        case otherCipher(CipherConfiguration)
        /// The key opens the file, whose pages have no HMAC (`PRAGMA cipher_use_hmac = OFF`).
        ///
        /// Changes to such pages would go unnoticed, so the file must be migrated first.
        case withoutHMAC
        /// The key is right; these pages (the first is 1) are not as they were written; at most
        /// 100,000 are named.
        case corrupt(pages: [Int])
        /// The key is right; the file ends before its last page.
        case truncated
        /// The key is right, and the file's pages are sound; commits in the log are no longer read.
        case damagedLog(LogDamage)
        /// The key is right; the journal that must be played back before the pages count is
        /// damaged.
        case damagedJournal(JournalDamage)
        /// Not a database of any kind known here.
        case notADatabase
    }

    /// The finding about the file.
    public let finding: Finding

    /// The observations, for people, in the order in which they were made.
    public let reasons: [String]

    /// The encryption of the pages of a file that must be migrated first.
    var format: PageFormat?

    /// The finding and its reasons, a line each.
    public var description: String {
        ([finding.summary] + reasons.map { "- \($0)" }).joined(separator: "\n")
    }
}

extension FileDiagnosis.Finding {
    /// One line for people.
    public var summary: String {
        switch self {
        case .ok: "the file is sound"
        case .missing: "no such file"
        case .empty: "the file is empty"
        case .notEncrypted: "a plain SQLite database, not encrypted"
        case .plaintextHeader: "encrypted, with a plaintext header; its salt is needed"
        case .keyNeeded: "encrypted, or not a database; telling which requires a key"
        case .wrongKey: "wrong key"
        case .legacyFormat(let version): "a file of SQLCipher \(version)"
        case .otherCipher: "another cipher configuration"
        case .withoutHMAC: "encrypted, without HMACs; migrate it"
        case .corrupt(let pages):
            pages.count == 1 ? "1 damaged page" : "\(pages.count) damaged pages"
        case .truncated: "the file was truncated"
        case .damagedLog: "a damaged log"
        case .damagedJournal: "a damaged journal"
        case .notADatabase: "not a database"
        }
    }
}

extension FileDiagnosis {
    /// Returns the error that `open` throws for a file with this finding.
    func openingError(_ path: String) -> SecureStorageError {
        let evidence = reasons.joined(separator: "; ")
        func failed(_ code: ResultCode, _ text: String) -> SecureStorageError {
            .openFailed(
                code: code.rawValue,
                message: "cannot open \"\(path)\": \(text); it was not changed (\(evidence))")
        }
        switch finding {
        case .legacyFormat(let version):
            let variant = format?.variant.map { " (\($0))" } ?? ""
            return .legacyFormat(
                version: version,
                message:
                    "\"\(path)\" was written by SQLCipher \(version)\(variant) and was not changed; "
                    + (format?.isReadByEngine == false
                        ? "let the sqlcipher shell copy it into another file with sqlcipher_export(), after "
                            + "PRAGMA cipher_compatibility = 2 and PRAGMA cipher_hmac_salt_mask = \"x'00'\""
                        : "migrate it to the format of SQLCipher 4 first"))
        case .notEncrypted:
            return .notEncrypted(
                message: "\"\(path)\" is a plain SQLite database; it was not changed")
        case .otherCipher(let cipher):
            return failed(
                .notADatabase,
                "the key is right, but the cipher configuration is not: the file has \(cipher.summary)"
            )
        case .withoutHMAC:
            return failed(
                .notADatabase,
                "the key is right, but the file's pages have no HMAC (PRAGMA cipher_use_hmac = OFF), so changes "
                    + "would go undetected; migrate it first")
        case .corrupt(let pages):
            return failed(
                .corrupt,
                "the key is right, but \(pages.count == 1 ? "a page is" : "\(pages.count) pages are") "
                    + "damaged; restore the file from a backup, or salvage what can be read")
        case .truncated:
            return failed(.corrupt, "the key is right, but the file was truncated")
        case .damagedLog(let damage): return damage.openingError(path)
        case .damagedJournal(let damage): return damage.openingError(path)
        case .notADatabase:
            return failed(
                .notADatabase, "it is not a SQLCipher database with this cipher configuration")
        case .plaintextHeader:
            return failed(
                .notADatabase,
                "it has a plaintext header; set cipher.plaintextHeaderSize, and restore its salt file "
                    + "\(SaltFile.suffix) or set cipher.salt")
        // The engine could not read it, whatever the pages show: another process has changed it
        // since.
        case .ok, .missing, .empty, .keyNeeded:
            return failed(.cannotOpen, "it changed while being opened; try again")
        case .wrongKey:
            return .authenticationFailed(
                message: "cannot open \"\(path)\": wrong key, or the file is not a SQLCipher "
                    + "database with this cipher configuration; it was not changed (\(evidence))")
        }
    }
}
