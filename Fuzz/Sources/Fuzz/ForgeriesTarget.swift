import Foundation
import SecureStorage

/// Reads pages that an attacker with the key has changed.
///
/// An input is a list of changes of 4 bytes each:
///
/// ```
/// bytes
///     1  the page, modulo the number of pages
///     2  the offset in the page, modulo its size
///     1  the new byte
/// ```
final class ForgeriesTarget: FuzzTarget {
    private let file: URL
    private let target: URL
    private let template: Data
    private let forge: PageForge

    private static let rawKey = Data(repeating: 3, count: 32)
    private static var key: DatabaseKey { .raw(SecretBytes(copying: rawKey)) }

    init() throws {
        let folder = try Scratch.folder("forgeries")
        file = folder.appendingPathComponent("forged.db")
        target = folder.appendingPathComponent("saved.db")
        let store = Self.store(file)
        try store.open(with: Self.key)
        // Overflow pages, inner pages, free pages and every kind of tree, in as few pages as
        // possible.
        try store.executeStatements(
            """
            CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT, y BLOB); CREATE INDEX i ON t (x);
            CREATE TABLE k (x PRIMARY KEY, y) WITHOUT ROWID;
            CREATE VIRTUAL TABLE w USING fts5(x); CREATE VIRTUAL TABLE v USING fts4(x);
            CREATE VIRTUAL TABLE r USING rtree(id, a, b);
            CREATE TABLE gone (x);
            WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 120)
            INSERT INTO t SELECT i, 'row ' || i, randomblob(CASE WHEN i % 30 = 0 THEN 9000 ELSE 90 END) FROM n;
            INSERT INTO k SELECT x, y FROM t; INSERT INTO gone SELECT y FROM t WHERE id < 60;
            INSERT INTO w SELECT x FROM t; INSERT INTO v SELECT x FROM t;
            INSERT INTO r SELECT id, id, id + 1 FROM t; DROP TABLE gone;
            """)
        store.close()
        template = try Data(contentsOf: file)
        forge = try PageForge(key: Self.rawKey, of: template)
    }

    private static func store(_ file: URL) -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        configuration.journalMode = .delete
        configuration.synchronous = .normal
        configuration.busyTimeout = .zero
        return SecureDatabaseStore(url: file, configuration: configuration)
    }

    func run(_ input: Data) throws {
        var forged = template
        var changes: [Int: [(place: Int, byte: UInt8)]] = [:]
        var reader = InputReader(input)
        while !reader.rest.isEmpty {
            let page = Int(reader.byte()) % (template.count / PageForge.pageSize) + 1
            let place = Int(reader.byte()) << 8 | Int(reader.byte())
            changes[page, default: []].append((place, reader.byte()))
        }
        for (page, changes) in changes {
            try forge.forge(page, of: &forged) { content in
                for change in changes { content[change.place % content.count] = change.byte }
            }
        }
        // Not copied as a file, because libFuzzer's timer would interrupt that.
        try forged.write(to: file)
        _ = try allowing(SecureStorageError.self) {
            try SecureDatabaseStore.diagnose(at: file, key: Self.key)
        }
        _ = try allowing(SecureStorageError.self) { try read() }
        _ = try allowing(SecureStorageError.self) { try salvage() }
    }

    private func read() throws {
        let store = Self.store(file)
        try store.open(with: Self.key)
        defer { store.close() }
        try store.withDeadline(.milliseconds(500)) {
            for sql in [
                "SELECT * FROM t ORDER BY x", "SELECT * FROM k", "SELECT * FROM r WHERE a > 5",
                "SELECT * FROM w WHERE w MATCH 'row'", "SELECT * FROM v WHERE v MATCH 'row'",
            ] {
                _ = try allowing(SecureStorageError.self) {
                    let rows = try store.executeQuery(sql)
                    defer { rows.close() }
                    while try rows.next() { _ = rows.resultDictionary }
                }
            }
            _ = try allowing(SecureStorageError.self) { try store.verifyIntegrity() }
        }
    }

    private func salvage() throws {
        let report = try SecureDatabaseStore.salvage(
            at: file, key: Self.key, to: target, replacing: true)
        let saved = Self.store(target)
        try saved.open(with: Self.key)
        defer { saved.close() }
        for table in report.tables where ["t", "k"].contains(table.name) {
            let rows = try saved.executeQuery("SELECT count(*) FROM \(table.name)")
            defer { rows.close() }
            let count = try rows.next() ? rows.int(forColumnIndex: 0) : nil
            precondition(count == table.rowsSaved, "\(table.name) has other rows than were counted")
        }
    }
}
