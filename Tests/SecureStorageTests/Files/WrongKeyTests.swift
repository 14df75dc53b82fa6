import Foundation
import SecureStorage
import Testing
import TestSupport

/// The library decides how a wrong key is reported and what stays unchanged, since engines differ
/// in both.
struct WrongKeyTests {
    /// The state of the file on which the key is tried.
    enum Kind: String, CaseIterable {
        case closed, leftLog, hotJournal
        case plaintextHeader, plaintextHeaderAndLeftLog, plaintextHeaderAndHotJournal
        case damagedFirstPage, damagedFirstPageAndLeftLog, damagedFirstPageAndHotJournal
        case format1, format2, format3

        /// nil for a file that is closed.
        var journalMode: SecureDatabaseConfiguration.JournalMode? {
            if rawValue.lowercased().hasSuffix("leftlog") { return .wal }
            return rawValue.lowercased().hasSuffix("hotjournal") ? .delete : nil
        }

        var hasPlaintextHeader: Bool { rawValue.hasPrefix("plaintextHeader") }
        var isDamaged: Bool { rawValue.hasPrefix("damaged") }
        var version: Int? { rawValue.hasPrefix("format") ? rawValue.last?.wholeNumberValue : nil }

        /// A passphrase, for which the formats of all versions cost a derivation each, only once.
        var wrongKeys: [DatabaseKey] {
            let raw = DatabaseKey.raw(SecretBytes(copying: Data(repeating: 9, count: 32)))
            return self == .format2 ? [raw, .passphrase("wrong")] : [raw]
        }

        var configuration: SecureDatabaseConfiguration {
            var configuration = SecureDatabaseConfiguration()
            configuration.journalMode = journalMode ?? .wal
            if hasPlaintextHeader { configuration.cipher.plaintextHeaderSize = 32 }
            return configuration
        }
    }

    @Test(arguments: Kind.allCases)
    func `a wrong key is reported as such, and every file stays unchanged`(_ kind: Kind) throws {
        let database = try make(kind)
        let before = try DirectorySnapshot(of: database.directory)
        for isReadOnly in [false, true] {
            var configuration = kind.configuration
            configuration.isReadOnly = isReadOnly
            for key in kind.wrongKeys.prefix(isReadOnly ? 1 : 2) {
                let store = SecureDatabaseStore(
                    fullDatabasePath: database.path, configuration: configuration)
                let error = storageError { try store.open(with: key) }
                check(
                    error?.kind, equals: .authenticationFailed, "\(error?.description ?? "opened")")
                check(error?.description.contains("it was not changed"), equals: true)
                let after = try DirectorySnapshot(of: database.directory)
                check(after, equals: before, "\(isReadOnly): \(after)\ninstead of \(before)")
            }
        }
        guard !kind.isDamaged, kind.version == nil else { return }
        let store = SecureDatabaseStore(
            fullDatabasePath: database.path, configuration: kind.configuration)
        try store.open(with: TemporaryDatabase.key)
        try check(store.int("SELECT count(*) FROM t"), equals: 100)
        try check(store.verifyIntegrity().isSound)
    }

    private func make(_ kind: Kind) throws -> TemporaryDatabase {
        let original = try TemporaryDatabase()
        if let version = kind.version {
            try Fixture.copy("sqlcipher-\(version)-passphrase.db", to: original)
            return original
        }
        let db = original.store {
            $0 = kind.configuration
            $0.cacheSize = 8192
        }
        try db.open(with: TemporaryDatabase.key)
        try db.executeStatements(
            """
            CREATE TABLE t (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100)
            INSERT INTO t SELECT randomblob(500) FROM n;
            """)
        if kind.journalMode == nil {
            db.close()
        } else {
            try db.executeStatements("BEGIN; UPDATE t SET x = randomblob(500)")
        }
        let database = try original.copiedFiles()
        let sideFile = kind.journalMode.map { database.path + ($0 == .wal ? "-wal" : "-journal") }
        if let sideFile {
            try require(Data(contentsOf: URL(fileURLWithPath: sideFile)).count > 512)
        }
        guard kind.isDamaged else { return database }
        var content = try Data(contentsOf: database.url)
        content[2000] ^= 1
        try content.write(to: database.url)
        return database
    }
}
