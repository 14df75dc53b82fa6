import Foundation
import SecureStorage
import Vaults

/// The initial corpus: data that the library itself writes, and SQL that an app would write.
enum Seeds {
    static func write(to folder: URL) throws {
        try write(records(), to: folder.appendingPathComponent("records"))
        try write(values(), to: folder.appendingPathComponent("values"))
        try write(archives(), to: folder.appendingPathComponent("archives"))
        try write(sql(), to: folder.appendingPathComponent("sql"))
        try write(forgeries(), to: folder.appendingPathComponent("forgeries"))
        try write(items(), to: folder.appendingPathComponent("cbor"))
        try write(entries(), to: folder.appendingPathComponent("chain"))
        try write(batches(), to: folder.appendingPathComponent("batch"))
        try write(sealed(), to: folder.appendingPathComponent("sealed"))
        try write(manifests(), to: folder.appendingPathComponent("manifest"))
        try write(parts(), to: folder.appendingPathComponent("part"))
        try write(invitations(), to: folder.appendingPathComponent("invitation"))
        try write(answers(), to: folder.appendingPathComponent("s3"))
    }

    private static func write(_ seeds: [String: Data], to folder: URL) throws {
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        for (name, seed) in seeds {
            try seed.write(to: folder.appendingPathComponent("seed-\(name)"))
        }
    }

    // MARK: - Records

    private static func records() throws -> [String: Data] {
        let (device, data) = (try RecordsTarget.device(), try RecordsTarget.data())
        var set = try WrappedKeySet(wrapping: data, with: device)
        try set.add(RecoveryCode("0123456-789ABCD-EFGHJKH"), for: data)
        // Unwrapping a set with a password takes too long.
        var passwordSet = set
        try passwordSet.add(PasswordKey("hunter2"), for: data)
        var seeds = ["set": set.bytes, "set-password": passwordSet.bytes]
        for (number, record) in passwordSet.records.enumerated() {
            seeds["key-\(number)"] = record.bytes
        }
        for length in [0, 40] {
            let plain = Data(repeating: 7, count: length)
            seeds["value-\(length)"] = try data.seal(
                plain, table: "table", column: "column", row: 1)
        }
        for length in [0, 300] {
            var stream = Data()
            let writer = try SealedStreamWriter(with: data) { stream.append($0) }
            try writer.write(Data(repeating: 7, count: length))
            try writer.finish()
            seeds["stream-\(length)"] = stream
        }
        seeds["code"] = Data("o1234 56789-abcde\tfghjk".utf8)

        let keys = InMemoryKeyStore()
        let provider = VaultKeyStoreProvider(keyStore: keys)
        _ = VaultCryptoProvider(keystore: provider).passwordSalt
        seeds["derivation"] = try provider.readData(
            named: "password-derivation", serviceName: provider.keychainServiceName)

        let folder = try Scratch.folder("seeds")
        let keyFolder = folder.appendingPathComponent("keys")
        let keyStore = try FileKeyStore(directory: keyFolder)
        let keyFile = try RecordsTarget.keyFile(in: keyStore, at: keyFolder)
        seeds["key-file"] = try Data(contentsOf: keyFile)
        seeds["backup"] = try backup(in: folder, device, set, passwordSet)
        return seeds
    }

    private static func backup(
        in folder: URL, _ device: KeyEncryptionKey, _ set: WrappedKeySet,
        _ passwordSet: WrappedKeySet
    ) throws -> Data {
        let store = SecureDatabaseStore(url: folder.appendingPathComponent("vault.db"))
        try store.open(with: .raw(SecretBytes.random(count: 32)))
        let queue = SecureDatabaseQueue(databaseStore: store)
        let file = folder.appendingPathComponent("backup")
        try VaultBackup.make(
            of: queue, at: file, unlockedBy: [device],
            dataKeys: [.key(RecordsTarget.data())],
            label: VaultBackupLabel(deviceName: "device", note: "note"))
        return try Data(contentsOf: file)
    }

    // MARK: - Values

    private static func values() throws -> [String: Data] {
        let row = try KeyValueRow("seeds-values")
        var seeds: [String: Data] = [
            "text": Data([1, 1, 0]) + Data("1.5e3".utf8),
            "not-utf8": Data([1, 1, 0, 0x61, 0xff, 0x00, 0xed, 0xa0, 0x80]),
            "integer": Data([1, 2, 0, 0xff, 0, 0, 0, 0, 0, 0, 1]),
            "real": Data([1, 3, 0, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18]),
            "expired": Data([1, 0, 1, 0x61]),
            "infinite": Data([3, 1, 0]) + Data(#"["Infinity",1E400,-0.0,"NaN"]"#.utf8),
            "deep": Data([3, 1, 0]) + Data((String(repeating: "[", count: 40)).utf8),
        ]
        let note = Note(
            title: "milk \u{e9}\u{1f600}", count: 2, ratio: 0.1,
            created: Date(timeIntervalSince1970: 1e9), tags: ["a", ""], bytes: Data([0, 255]),
            next: [Note(title: "next")])
        seeds["note"] = try json(note, row)
        seeds["shape"] = try json(Shape.named("square", UUID()), row)
        seeds["circle"] = try json(Shape.circle(radius: 2.5), row)
        seeds["tree"] = try json(Tree.branches([.leaf, .branches([.leaf])]), row)
        seeds["url"] = try json(URL(string: "https://example.org/a?b#c"), row)
        seeds["decimal"] = try json(Decimal(string: "123456789.123456789"), row)
        seeds["dictionary"] = try json([1: true, -2: false], row)
        return seeds
    }

    private static func json<T: Codable & Sendable>(_ value: T, _ row: KeyValueRow) throws -> Data {
        try row.values.put(value, forKey: KeyValueRow.key, expiresIn: nil)
        return Data([3, 1, 0]) + (try stored(row))
    }

    /// Returns the bytes in the row.
    private static func stored(_ row: KeyValueRow) throws -> Data {
        let sql = "SELECT value FROM securestorage_kv_1 WHERE key = ?"
        return try row.store.data(forQuery: sql, values: [KeyValueRow.key]) ?? Data()
    }

    // MARK: - Archives

    private static func archives() throws -> [String: Data] {
        ArchivesTarget.setClassNames()
        let row = try KeyValueRow("seeds-archives")
        var seeds: [String: Data] = [:]
        func add<T: NSObject & NSCoding>(_ name: String, _ object: T) throws {
            try row.values.put(object, forKey: KeyValueRow.key)
            seeds[name] = try stored(row)
        }
        let url = URL(string: "b", relativeTo: URL(string: "https://example.org/a/"))
        let mixed: [Any] = [
            "text", 1, -2.5, true, Date(timeIntervalSince1970: 0), Data([1, 2]), NSNull(), UUID(),
            url ?? "", UInt64.max,
        ]
        try add("array", NSArray(array: mixed))
        try add("mutable", NSMutableArray(array: [NSMutableString(string: "m"), NSMutableSet()]))
        try add("dictionary", NSDictionary(dictionary: ["a": 1, "b": ["c": [2, 3]]]))
        try add("set", NSSet(array: ["a", 2, Date(timeIntervalSince1970: 1)]))
        try add("ordered-set", NSOrderedSet(array: ["b", "a", 1]))
        try add("string", NSString(string: "\u{e9}\u{1f600}"))
        try add("number", NSNumber(value: 1.5))
        try add("person", Person("Ada", friend: Person("Charles")))
        try add("memo", Memo("a", lines: ["b", 1], next: Memo("c", lines: [])))
        return seeds
    }

    // MARK: - Forgeries

    /// Returns changes of the header, of roots and of links; see `ForgeriesTarget`.
    private static func forgeries() -> [String: Data] {
        [
            "nothing": Data(),
            "reserve": Data([0, 0, 20, 255]),
            "page-count": Data([0, 0, 28, 255, 0, 0, 31, 254]),
            "free-list": Data([0, 0, 32, 0, 0, 0, 35, 2]),
            "root-kind": Data([1, 0, 0, 5]),
            "cell-count": Data([1, 0, 3, 255, 1, 0, 4, 255]),
            "content-start": Data([2, 0, 5, 255, 2, 0, 6, 0]),
            "right-child": Data([1, 0, 11, 2]),
            "payload": Data([3, 15, 160, 255, 3, 15, 161, 255, 3, 15, 162, 255]),
        ]
    }

    // MARK: - SQL

    private static func sql() -> [String: Data] {
        // A text, a blob, an integer, a real and a null.
        let values =
            Data([0, 4]) + Data("milk".utf8) + Data([1, 3, 0, 1, 255])
            + Data([
                2, 0, 0, 0, 0, 0, 0, 0, 1, 3, 0x40, 0x09, 0x21, 0xfb, 0x54, 0x44, 0x2d, 0x18, 4,
            ])
        let statements = [
            "uINSERT INTO note (title, body, id, size) VALUES (?, ?, ?, ?)",
            "uINSERT OR REPLACE INTO note VALUES (?3, ?1, ?2, ?4) -- comment",
            "uUPDATE note SET body = ?2 WHERE title LIKE ?1 OR id = ?3",
            "uINSERT INTO words VALUES (?)",
            "uCREATE TEMP TABLE \"t\"\"t\" (a PRIMARY KEY, b CHECK (b > 0)) WITHOUT ROWID",
            "qSELECT *, rowid, title AS title, ? FROM note /* all */ ORDER BY 2;",
            "qSELECT highlight(words, 0, '<', '>') FROM words WHERE words MATCH ?",
            "qWITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < ?3) SELECT sum(i) FROM n",
            "qSELECT json_extract(?, '$.a'), printf('%s %d %q', ?2, ?3, ?4), CAST(?2 AS TEXT), x'ff'",
            "qSELECT group_concat(title) OVER (ORDER BY id) FROM note GROUP BY id HAVING count(*) > 0",
            "qPRAGMA table_info(note)",
            "qEXPLAIN QUERY PLAN SELECT * FROM titled",
            "qDELETE FROM note RETURNING id, title",
            "qVALUES (?1, ?2), (?3, ?4);;  -- nothing follows",
            "sCREATE TABLE a (b); INSERT INTO a VALUES ('x;y'); SELECT * FROM a; DROP TABLE a;",
            "sBEGIN; SAVEPOINT s; ROLLBACK TO s; RELEASE s; COMMIT",
            "sPRAGMA user_version = 3; PRAGMA foreign_keys; PRAGMA cipher_version",
            "sATTACH 'other.db' AS other KEY 'secret'; DETACH other",
            "sINSERT INTO tag VALUES (1, ''); VACUUM",
            "pSELECT * FROM note WHERE title = ? OR id = ?3",
            "pINSERT INTO tag VALUES (?3, ?1) RETURNING name",
            "nSELECT :a, @b, $c, :a FROM note WHERE title = :a",
            "nINSERT INTO note (title, body) VALUES (:a, :b) RETURNING *",
            "dSELECT id, title, '[\"a\"]' AS body, size, '2024-01-01' AS date, x'00' AS data FROM note",
            "dSELECT ?1 AS id, ?2 AS title, ?1 AS body",
            "vSELECT 1",
            "v\"",
        ]
        let seeds = statements.enumerated().map { number, sql in
            ("\(number)", Data(sql.utf8) + [0] + values)
        }
        return Dictionary(uniqueKeysWithValues: seeds)
    }
}
