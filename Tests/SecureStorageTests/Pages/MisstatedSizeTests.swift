import Foundation
import SecureStorage
import Testing

/// First pages that claim another page size.
///
/// SQLite takes the size from there, and SQLCipher its own: where they differ, the engine writes outside of its memory. So
/// no engine gets to see such a page.
@Suite struct MisstatedSizeTests {
    let database: TemporaryDatabase
    let target: TemporaryDatabase

    init() throws {
        database = try TemporaryDatabase()
        target = try TemporaryDatabase(name: "saved.db")
    }

    /// Page size and reserved bytes, where 4096 and 80 are right.
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
        #expect(error?.code == 11, "\(error as Any)", sourceLocation: sourceLocation)
        #expect(
            try DirectorySnapshot(of: database.directory) == before, sourceLocation: sourceLocation)
        var cipher = CipherConfiguration()
        cipher.plaintextHeaderSize = headerSize
        let diagnosis = try SecureDatabaseStore.diagnose(
            at: database.url, key: SalvageFile.key, cipher: cipher)
        #expect(isFinding(diagnosis.finding), "\(diagnosis)", sourceLocation: sourceLocation)
        // Reads the pages by itself.
        _ = try? SecureDatabaseStore.salvage(
            at: database.url, key: SalvageFile.key, cipher: cipher, to: target.url,
            replacing: true)
    }

    @Test(arguments: sizes)
    func `a first page that somebody with the key has written is damage`(
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
    func `a plaintext header, which nothing protects, is damage`(
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

    @Test(arguments: sizes)
    func `a log's page that says so is not read`(_ pageSize: Int, _ reserved: Int) throws {
        let db = try database.openStore { $0.cipher.plaintextHeaderSize = 32 }
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES ('row')")
        let copy = try database.copiedFiles()
        db.close()
        let log = URL(fileURLWithPath: copy.path + "-wal")
        var frames = try [UInt8](Data(contentsOf: log))
        for start in stride(from: 32, to: frames.count, by: 24 + 4096)
        where frames[start..<(start + 4)].elementsEqual([0, 0, 0, 1]) {
            Self.misstate(&frames, at: start + 24, pageSize, reserved)
        }
        LogChecksums.repair(&frames, pageSize: 4096)
        try Data(frames).write(to: log)
        try expectDamage(in: copy, headerSize: 32)
    }

    @Test(arguments: sizes)
    func `a journal's page that says so is not played back`(
        _ pageSize: Int, _ reserved: Int
    ) throws {
        let copy = try hotJournal(headerSize: 32)
        let journal = URL(fileURLWithPath: copy.path + "-journal")
        var records = try [UInt8](Data(contentsOf: journal))
        let first = try #require(
            stride(from: 512, to: records.count, by: 4 + 4096 + 4).first {
                records[$0..<($0 + 4)].elementsEqual([0, 0, 0, 1])
            })
        // No checksum covers these bytes.
        Self.misstate(&records, at: first + 4, pageSize, reserved)
        try Data(records).write(to: journal)
        try expectDamage(in: copy, headerSize: 32) { finding in
            if case .damagedJournal = finding { true } else { false }
        }
    }

    /// As a kill in the middle of a transaction leaves it.
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

    /// The engine takes the size of its pages from there too, and keeps it.
    @Test(arguments: [0, 32], [512, 1024, 2048, 8192, 65536])
    func `a journal whose header says so is not played back`(
        _ headerSize: Int, _ pageSize: Int
    ) throws {
        let copy = try hotJournal(headerSize: headerSize)
        let journal = URL(fileURLWithPath: copy.path + "-journal")
        var records = try [UInt8](Data(contentsOf: journal))
        for byte in 0..<4 {
            records[24 + byte] = UInt8(truncatingIfNeeded: pageSize >> (24 - 8 * byte))
        }
        try Data(records).write(to: journal)
        try expectDamage(in: copy, headerSize: headerSize) { finding in
            if case .damagedJournal = finding { true } else { false }
        }
    }

    /// Without an HMAC nobody needs the key: the page's initialisation vector changes the first block bit by bit.
    @Test func `a page without HMAC that says so is not migrated`() throws {
        try Fixture.copy("sqlcipher-4-no-hmac.db", to: database)
        var file = try [UInt8](Data(contentsOf: database.url))
        let page = try #require([4096, 1024].first { file.count % $0 == 0 })
        // 16 or 80 bytes are reserved, and now 0 or 64, or 64 or 0.
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
            #expect(try Data(contentsOf: database.url) == Data(file))
        }
        #expect(refused == 1)
    }
}
