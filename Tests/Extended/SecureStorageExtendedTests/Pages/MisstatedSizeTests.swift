import Foundation
import SecureStorage
import Testing
import TestSupport
@testable import SecureStorageTests

/// First pages that claim another page size.
///
/// SQLite uses that size, and SQLCipher its own. If they differ, the engine writes out of bounds,
/// so no engine may see such a page.
struct MisstatedSizeTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    /// Wrong page sizes and counts of reserved bytes; 4096 and 80 are right.
    static let sizes: [(Int, Int)] = [
        (512, 80), (1024, 0), (2048, 80), (8192, 255), (65536, 80), (3, 80), (0, 80), (4096, 0),
        (4096, 79),
    ]

    private static func misstate(
        _ bytes: inout [UInt8], at page: Int = 0, _ pageSize: Int, _ reserved: Int
    ) {
        bytes[page + 16] = UInt8(truncatingIfNeeded: pageSize == 65536 ? 0 : pageSize >> 8)
        bytes[page + 17] = UInt8(truncatingIfNeeded: pageSize == 65536 ? 1 : pageSize)
        bytes[page + 20] = UInt8(reserved)
    }

    private static let journalMagic: [UInt8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]

    private static func bigEndian(_ number: Int) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: number >> (24 - 8 * $0)) }
    }

    /// Returns a journal header with sectors of 512 bytes.
    private static func journalHeader(
        records: Int, nonce: Int, pages: Int, pageSize: Int = 4096
    ) -> [UInt8] {
        let header = journalMagic + [records, nonce, pages, 512, pageSize].flatMap(bigEndian)
        return header + [UInt8](repeating: 0, count: 512 - header.count)
    }

    /// Changes the journal's record of page 1, in bytes that no checksum covers.
    private static func misstateFirstPage(
        ofJournal records: inout [UInt8], _ pageSize: Int, _ reserved: Int
    ) throws {
        let first = try require(
            stride(from: 512, to: records.count, by: 4 + 4096 + 4).first {
                records[$0..<($0 + 4)].elementsEqual(bigEndian(1))
            })
        misstate(&records, at: first + 4, pageSize, reserved)
    }

    private func expectDamage(
        in database: TemporaryDatabase, headerSize: Int = 0,
        isFinding: (FileDiagnosis.Finding) -> Bool = { $0 == .corrupt(pages: [1]) },
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let before = try DirectorySnapshot(of: database.directory)
        let error = storageError {
            let db = try database.openStore { $0.cipher.plaintextHeaderSize = headerSize }
            defer { db.close() }
            _ = try db.strings("SELECT x FROM t")
        }
        check(error?.code, equals: 11, "\(error as Any)", sourceLocation: sourceLocation)
        try check(
            DirectorySnapshot(of: database.directory), equals: before,
            sourceLocation: sourceLocation)
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = headerSize
        let diagnosis = try SecureDatabaseStore.diagnose(
            at: database.url, key: SalvageFile.key, cipher: cipher)
        check(isFinding(diagnosis.finding), "\(diagnosis)", sourceLocation: sourceLocation)
        // Salvage reads the pages itself.
        _ = try? SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, cipher: cipher, to: target.url,
            replacing: true)
    }

    @Test(arguments: sizes)
    func `a first page forged with the key is damage`(
        _ pageSize: Int, _ reserved: Int
    ) throws {
        let db = try database.openStore { $0.journalMode = .delete }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        db.close()
        var file = try Data(contentsOf: database.url)
        try PageForge(key: TemporaryDatabase.key, of: file).forge(1, of: &file) {
            Self.misstate(&$0, pageSize, reserved)
        }
        try file.write(to: database.url)
        try expectDamage(in: database)
    }

    @Test(arguments: sizes)
    func `a forged plaintext header, which nothing protects, is damage`(
        _ pageSize: Int, _ reserved: Int
    ) throws {
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cipher.plaintextHeaderSize = 32
        }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        db.close()
        var file = try [UInt8](Data(contentsOf: database.url))
        Self.misstate(&file, pageSize, reserved)
        try Data(file).write(to: database.url)
        try expectDamage(in: database, headerSize: 32)
    }

    /// Makes a closed file with a plaintext header, and a log of these frames, each of which ends a
    /// commit.
    private func laidLog(
        _ frames: [(number: UInt32, isMisstated: Bool)], frameSize: Int = 4096
    ) throws -> TemporaryDatabase {
        let source = try TemporaryDatabase()
        let db = try source.openStore { $0.cipher.plaintextHeaderSize = 32 }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        let copy = try source.copiedFiles()
        db.close()
        let log = URL(fileURLWithPath: copy.path + "-wal")
        let stored = try [UInt8](Data(contentsOf: log))
        let first = try require(
            stride(from: 32, to: stored.count, by: 24 + 4096).first {
                stored[$0..<($0 + 4)].elementsEqual([0, 0, 0, 1])
            })
        var bytes = Array(stored[..<32])
        bytes.replaceSubrange(8..<12, with: [0, 0, UInt8(frameSize >> 8), 0])
        for frame in frames {
            var page = Array(stored[(first + 24)..<(first + 24 + 4096)])
            if frame.isMisstated { Self.misstate(&page, 512, 80) }
            // The page number, and the size of the database after the commit.
            bytes += [0, 0, 0, UInt8(frame.number), 0, 0, 0, 2] + stored[16..<24]
            bytes += [UInt8](repeating: 0, count: 8) + page
            bytes += [UInt8](repeating: 0, count: frameSize - 4096)
        }
        LogChecksums.repair(&bytes, pageSize: frameSize)
        try Data(bytes).write(to: log)
        return copy
    }

    @Test func `a log's page with a misstated size is not read, wherever it is`() throws {
        for frames in [
            [(1, true)], [(1, true), (1, false)], [(1, false), (1, true)],
            // The engine stops at page 0.
            [(1, true), (0, false), (1, false)],
        ] as [[(UInt32, Bool)]] {
            let copy = try laidLog(frames.map { (number: $0.0, isMisstated: $0.1) })
            try expectDamage(in: copy, headerSize: 32) { _ in true }
        }
    }

    @Test func `a log whose own header claims another page size is not read`() throws {
        let copy = try laidLog([(1, true)], frameSize: 8192)
        try expectDamage(in: copy, headerSize: 32) { _ in true }
    }

    @Test func `such a log is not read beside a journal without records either`() throws {
        let copy = try laidLog([(1, true)])
        let pages = try Data(contentsOf: copy.url).count / 4096
        let journal = Self.journalHeader(records: 0, nonce: 0x0102_0304, pages: pages)
        try Data(journal).write(to: URL(fileURLWithPath: copy.path + "-journal"))
        try expectDamage(in: copy, headerSize: 32) { _ in true }
    }

    /// The engine accepts neither name as a super-journal's, and plays the journal back.
    @Test(arguments: ["\0", String(repeating: "/x", count: 300)])
    func `an impossible file name at a journal's end hides nothing`(_ name: String) throws {
        let copy = try hotJournal(headerSize: 32)
        let journal = URL(fileURLWithPath: copy.path + "-journal")
        var records = try [UInt8](Data(contentsOf: journal))
        try Self.misstateFirstPage(ofJournal: &records, 512, 80)
        records += name.utf8
        records += Self.bigEndian(name.utf8.count)
        records += Self.bigEndian(name.utf8.reduce(0) { $0 + Int($1) }) + Self.journalMagic
        try Data(records).write(to: journal)
        try expectDamage(in: copy, headerSize: 32) { _ in true }
    }

    @Test func `a migration does not play back a journal beside a file without HMAC`() throws {
        try Fixture.copy("sqlcipher-4-no-hmac.db", to: database)
        let file = try [UInt8](Data(contentsOf: database.url))
        for pageSize in [512, 4096] {
            var journal = Self.journalHeader(
                records: 2, nonce: 0, pages: file.count / 4096, pageSize: pageSize)
            // The second record counts for the engine, whose cache is empty here.
            for isMisstated in [false, true] {
                var page = Array(file[..<4096])
                if isMisstated { page[4096 - 16] ^= 0x12 }
                let sum = stride(from: 4096 - 200, to: 0, by: -200).reduce(0) {
                    $0 + Int(page[$1])
                }
                journal += Self.bigEndian(1) + page + Self.bigEndian(sum)
            }
            try Data(journal).write(to: URL(fileURLWithPath: database.path + "-journal"))
            let before = try DirectorySnapshot(of: database.directory)
            let error = storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("correct horse"))
            }
            check(error?.code, equals: 11, "\(error as Any)")
            try check(DirectorySnapshot(of: database.directory), equals: before)
        }
    }

    @Test(arguments: sizes)
    func `a journal's page with a misstated size is not played back`(
        _ pageSize: Int, _ reserved: Int
    ) throws {
        let copy = try hotJournal(headerSize: 32)
        let journal = URL(fileURLWithPath: copy.path + "-journal")
        var records = try [UInt8](Data(contentsOf: journal))
        try Self.misstateFirstPage(ofJournal: &records, pageSize, reserved)
        try Data(records).write(to: journal)
        try expectDamage(in: copy, headerSize: 32) { finding in
            if case .damagedJournal = finding { true } else { false }
        }
    }

    /// Makes the files that a kill in the middle of a transaction leaves.
    private func hotJournal(headerSize: Int) throws -> TemporaryDatabase {
        let db = try database.openStore {
            $0.journalMode = .delete
            $0.cipher.plaintextHeaderSize = headerSize
            $0.cacheSize = 20 << 10
        }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        try db.beginTransaction()
        for _ in 1...100 { try db.executeUpdate("INSERT INTO t VALUES (zeroblob(9000))") }
        let copy = try database.copiedFiles()
        try db.rollback()
        db.close()
        return copy
    }

    /// The engine takes its page size from there too, and keeps it.
    @Test(arguments: [0, 32], [512, 1024, 2048, 8192, 65536])
    func `a journal whose header misstates the page size is not played back`(
        _ headerSize: Int, _ pageSize: Int
    ) throws {
        let copy = try hotJournal(headerSize: headerSize)
        let journal = URL(fileURLWithPath: copy.path + "-journal")
        var records = try [UInt8](Data(contentsOf: journal))
        records.replaceSubrange(24..<28, with: Self.bigEndian(pageSize))
        try Data(records).write(to: journal)
        try expectDamage(in: copy, headerSize: headerSize) { finding in
            if case .damagedJournal = finding { true } else { false }
        }
    }

    /// Without an HMAC an attacker needs no key: the initialisation vector changes the first block
    /// bit by bit.
    @Test func `a page without HMAC that misstates its reserved bytes is not migrated`() throws {
        try Fixture.copy("sqlcipher-4-no-hmac.db", to: database)
        var file = try [UInt8](Data(contentsOf: database.url))
        let page = try require([4096, 1024].first { file.count % $0 == 0 })
        // 16 or 80 bytes are reserved: the first vector makes that 0 or 64, the second 64 or 0.
        let vectors = [0x10, 0x50].map { file[page - 16 + 4] ^ $0 }
        var refused = 0
        for vector in vectors {
            file[page - 16 + 4] = vector
            try Data(file).write(to: database.url)
            let error = storageError {
                try SecureDatabaseStore.migrate(at: database.url, key: .passphrase("correct horse"))
            }
            guard error?.code == 11 else { continue }
            refused += 1
            try check(Data(contentsOf: database.url), equals: Data(file))
        }
        check(refused, equals: 1)
    }
}
