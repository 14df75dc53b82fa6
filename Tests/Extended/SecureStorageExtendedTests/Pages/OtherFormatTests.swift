import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// Files of other programs whose format is neither SQLCipher 4's nor the default of an older
/// version.
struct OtherFormatTests {
    typealias Finding = FileDiagnosis.Finding

    let database: TemporaryDatabase

    init() throws { database = try TemporaryDatabase() }

    /// A file in Fixtures/ and its expected diagnosis.
    struct Sample: CustomStringConvertible, Sendable {
        let name: String
        let finding: Finding
        /// Words in the error of `open`, besides the path.
        let words: [String]
        /// The version named in the first row.
        let version: String
        var isMigrated = true

        var description: String { name }
        var key: DatabaseKey {
            name.contains("raw-key")
                ? .raw(SecretBytes(copying: Fixture.rawKey)) : .passphrase(Fixture.passphrase)
        }
    }

    static var samples: [Sample] {
        var largePages = CipherConfiguration()
        (largePages.hmacAlgorithm, largePages.kdfAlgorithm) = (.sha1, .pbkdf2HMACSHA1)
        largePages.kdfIterations = 64_000
        let noHMAC = ["the key is right", "cipher_use_hmac", "migrate"]
        return [
            Sample(
                name: "sqlcipher-4-no-hmac", finding: .withoutHMAC, words: noHMAC,
                version: "SQLCipher 4 without HMAC"),
            Sample(
                name: "sqlcipher-4-no-hmac-raw-key", finding: .withoutHMAC, words: noHMAC,
                version: "SQLCipher 4 without HMAC"),
            Sample(
                name: "sqlcipher-3-no-hmac", finding: .withoutHMAC, words: noHMAC,
                version: "SQLCipher 3 without HMAC"),
            Sample(
                name: "sqlcipher-3-large-pages", finding: .otherCipher(largePages),
                words: ["the key is right", "PBKDF2_HMAC_SHA1", "64000", "4096", "HMAC_SHA1"],
                version: "SQLCipher 3 with pages of 4096 bytes"),
            Sample(
                name: "sqlcipher-2-big-endian", finding: .legacyFormat(version: 2),
                words: ["big-endian", "migrate"],
                version: "SQLCipher 2 with big-endian page numbers"),
            Sample(
                name: "sqlcipher-2-beta", finding: .legacyFormat(version: 2),
                words: ["a beta of 2.0", "sqlcipher_export", "cipher_hmac_salt_mask"],
                version: "SQLCipher 2 beta", isMigrated: false),
        ]
    }

    @Test(arguments: samples) func `the right key is never reported as wrong`(_ sample: Sample)
        throws
    {
        try Fixture.copy(sample.name + ".db", to: database)
        let before = try Data(contentsOf: database.url)
        let diagnosis = try SecureDatabaseStore.diagnose(at: database.url, key: sample.key)
        check(diagnosis.finding, equals: sample.finding, "\(diagnosis)")

        let error = storageError { try database.store().open(with: sample.key) }
        let text = error?.description ?? "no error"
        check([.openFailed, .legacyFormat].contains(error?.kind), "\(text)")
        for word in sample.words { check(text.contains(word), "\(text)") }
        // Another key is wrong. A passphrase, which costs a derivation for each format, only once.
        let wrong: [DatabaseKey] =
            sample.name.hasPrefix("sqlcipher-3-large") ? [.passphrase("another")] : []
        for key in wrong + [DatabaseKey.raw(SecretBytes.random(count: 32))] {
            try check(
                [.wrongKey, .notADatabase].contains(
                    SecureDatabaseStore.diagnose(at: database.url, key: key).finding))
        }
        try check(Data(contentsOf: database.url), equals: before)
    }

    @Test(arguments: samples) func `each file is migrated, or the error says how to do it`(
        _ sample: Sample
    ) throws {
        try Fixture.copy(sample.name + ".db", to: database)
        let before = try Data(contentsOf: database.url)
        guard sample.isMigrated else {
            let error = storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: sample.key)
            }
            check(error?.kind, equals: .legacyFormat)
            check(error?.description.contains("sqlcipher_export"), equals: true, "\(error as Any)")
            try check(Data(contentsOf: database.url), equals: before)
            return
        }
        let old = try require(SecureDatabaseStore.migrate(at: database.url, key: sample.key))
        try check(Data(contentsOf: old), equals: before)
        let db = database.store()
        try db.open(with: sample.key)
        try check(
            db.strings("SELECT text FROM note ORDER BY id"),
            equals: ["written by \(sample.version)", "second", "third"])
        try check(db.verifyIntegrity().isSound)
    }

    @Test func `a file of SQLCipher 3 with other pages opens with the detected configuration`()
        throws
    {
        try Fixture.copy("sqlcipher-3-large-pages.db", to: database)
        let key = DatabaseKey.passphrase(Fixture.passphrase)
        guard
            case .otherCipher(let cipher) = try SecureDatabaseStore.diagnose(
                at: database.url, key: key
            ).finding
        else {
            Issue.record("no configuration is found")
            return
        }
        let db = database.store { $0.cipher = cipher }
        try db.open(with: key)
        try check(db.int("SELECT count(*) FROM note"), equals: 3)
    }

    @Test func `SQLCipher 4's own derivation is detected if another one is configured`() throws {
        let db = database.store()
        try db.open(with: "a passphrase")
        db.close()
        var cipher = CipherConfiguration()
        (cipher.kdfIterations, cipher.pageSize) = (64_000, 1024)
        try check(
            SecureDatabaseStore.diagnose(
                at: database.url, key: .passphrase("a passphrase"), cipher: cipher
            ).finding, equals: .otherCipher(CipherConfiguration()))
    }

    @Test func `a file without HMACs is recognised by its first page, and salvage says so`()
        throws
    {
        try Fixture.copy("sqlcipher-4-no-hmac.db", to: database)
        let key = DatabaseKey.passphrase(Fixture.passphrase)
        var bytes = try Data(contentsOf: database.url)
        bytes[5000] ^= 1
        try bytes.write(to: database.url)
        try check(
            SecureDatabaseStore.diagnose(at: database.url, key: key).finding, equals: .withoutHMAC)
        check(
            storageError {
                try SecureDatabaseStore.salvage(
                    at: database.url, key: key,
                    to: database.directory.appendingPathComponent("saved.db"))
            }?.description.contains("cipher_use_hmac"), equals: true)
    }
}
