import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Rows of a program that does not have SQLite check foreign keys: what waits elsewhere waits in
/// its own file, too.
struct OrphansTests {
    private let pair: MergePair

    init() throws {
        pair = try MergePair(
            """
            CREATE TABLE folder (id TEXT PRIMARY KEY NOT NULL, code TEXT UNIQUE);
            CREATE TABLE note (id TEXT PRIMARY KEY NOT NULL,
                folder TEXT REFERENCES folder (id) ON DELETE CASCADE,
                code TEXT REFERENCES folder (code), note TEXT REFERENCES note);
            """, ["note", "folder"])
        try pair.first.run(
            """
            INSERT INTO folder VALUES ('f', 'x'), ('g', 'y');
            INSERT INTO note VALUES ('a', 'f', NULL, NULL), ('b', 'g', 'x', NULL),
                ('c', 'g', NULL, 'a'), ('d', 'g', 'y', NULL);
            """)
        _ = try pair.exchange()
        try pair.first.run("PRAGMA foreign_keys = OFF")
    }

    private func expectHeldBack(_ keys: [String]) throws {
        for file in [pair.first, pair.second] {
            let heldBack = try file.capture.heldBackRows(in: file.db)
            check(heldBack.flatMap(\.key).map(\.summary).sorted(), equals: keys)
            check(heldBack.allSatisfy { $0.standing == .orphan })
        }
    }

    @Test func `children whose parent was deleted wait, and return with it`() throws {
        try pair.first.run("DELETE FROM folder WHERE id = 'f'")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM note ORDER BY id", ["d"])
        try expectHeldBack(["a", "b", "c"])
        try pair.first.run("INSERT INTO folder VALUES ('f', 'x')")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM note ORDER BY id", ["a", "b", "c", "d"])
        try expectHeldBack([])
    }

    @Test func `a row that is written without its parent waits`() throws {
        try pair.first.run(
            """
            INSERT INTO note VALUES ('e', 'none', NULL, NULL);
            UPDATE note SET folder = 'none' WHERE id = 'd';
            """)
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM note ORDER BY id", ["a", "b", "c"])
        try expectHeldBack(["d", "e"])
    }

    @Test func `children wait whose parent has another value than the one that they refer to`()
        throws
    {
        try pair.first.run("UPDATE folder SET code = 'z' WHERE id = 'f'")
        _ = try pair.exchange()
        try pair.expect("SELECT id FROM note ORDER BY id", ["a", "c", "d"])
        try expectHeldBack(["b"])
    }

    @Test func `rows that had no parent before the group was founded wait in it`() throws {
        let file = pair.first
        _ = try file.timestamped()
        try file.write {
            try file.capture.withoutCapturing(in: file.db) {
                try file.run("DELETE FROM folder WHERE id = 'f'")
            }
            try file.capture.forgetHistory(in: file.db)
        }
        try check(file.db.strings("SELECT id FROM note"), equals: ["d"])
        try check(file.capture.heldBackRows(in: file.db).count, equals: 3)
    }
}
