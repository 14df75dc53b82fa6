#if PostgreSQL
    import Foundation
    import ObjectStores
    import SecureSync
    import TestSupport
    import Testing

    @testable import PostgreSQLStore

    extension PostgreSQLTests {
        /// What the server lets a role do.
        @Suite(.serialized, .enabled(if: TestServer.isOwn))
        struct RightsTests {
            private let store: PostgreSQLObjectStore
            private let name = TestServer.prefix() + "secret"

            init() throws { store = try TestServer.store() }

            private func otherStore(_ group: String) throws -> PostgreSQLObjectStore {
                PostgreSQLObjectStore(
                    connectionString: try require(TestServer.other), group: group,
                    patience: .seconds(2))
            }

            @Test func `groups have names of their own`() async throws {
                let other = try otherStore("other")
                try await check(store.create(name, Data("1".utf8)))
                try await check(other.read(name) == nil)
                try await check(other.create(name, Data("2".utf8)))
                try await check(store.read(name), equals: Data("1".utf8))
                try await check(other.read(name), equals: Data("2".utf8))
                try await other.remove([name])
                try await check(store.read(name), equals: Data("1".utf8))
                try await store.remove([name])
            }

            @Test func `a role that claims a group is refused`() async throws {
                try await check(store.create(name, Data("1".utf8)))
                try await store.mark(name + "-mark", Data("1".utf8))
                let other = try otherStore("test")
                for call in [
                    { _ = try await other.read(name) },
                    { _ = try await other.list("", after: nil) },
                    { _ = try await other.create(name + "2", Data()) },
                    { _ = try await other.create(name, Data()) },
                    { try await other.mark(name + "-mark", Data()) },
                    { _ = try await other.waitForMark(name, since: nil, atMost: .seconds(1)) },
                ] as [() async throws -> Void] {
                    let error = try await TestServer.failure(of: call)
                    check(error.code == "42501" && !error.isTransient)
                    check(error.description.contains("securestorage_member"))
                }
                try await other.remove([name, name + "-mark"])
                try await check(store.read(name), equals: Data("1".utf8))
                try await check(store.read(name + "-mark"), equals: Data("1".utf8))
                try await store.remove([name, name + "-mark"])
            }

            @Test func `statements written by hand see and change no other group`() async throws {
                try await check(store.create(name, Data("1".utf8)))
                try await store.mark(name + "-mark", Data("1".utf8))
                for statement in [
                    Statement("SELECT * FROM securestorage_object WHERE grp = 'test'"),
                    Statement("SELECT * FROM securestorage_mark WHERE grp = 'test'"),
                    Statement("SELECT * FROM securestorage_member WHERE grp = 'test'"),
                    Statement("DELETE FROM securestorage_object WHERE grp = 'test' RETURNING name"),
                    Statement("DELETE FROM securestorage_mark WHERE grp = 'test' RETURNING name"),
                    Statement(
                        "UPDATE securestorage_mark SET bytes = '' WHERE grp = 'test' RETURNING name"
                    ),
                ] {
                    let rows = try await TestServer.run(TestServer.other, statement)
                    check(rows.isEmpty, "\(statement.sql)")
                }
                for statement in [
                    Statement(
                        "INSERT INTO securestorage_object (grp, name, bytes) VALUES ('test', 'x', '')"
                    ),
                    Statement(
                        "INSERT INTO securestorage_mark (grp, name, bytes) VALUES ('test', 'x', '')"
                    ),
                    Statement(
                        "INSERT INTO securestorage_member (grp, role) VALUES ('test', 'other')"),
                    Statement("UPDATE securestorage_member SET grp = 'test'"),
                    Statement("DELETE FROM securestorage_member"),
                    Statement("UPDATE securestorage_mark SET grp = 'test'"),
                    Statement("ALTER TABLE securestorage_object DISABLE ROW LEVEL SECURITY"),
                    Statement("DROP POLICY securestorage_group ON securestorage_object"),
                    Statement("SET ROLE tester"), Statement("SET SESSION AUTHORIZATION tester"),
                    Statement("TRUNCATE securestorage_object"),
                ] {
                    let error = try await TestServer.failure {
                        try await TestServer.run(TestServer.other, statement)
                    }
                    check(error.code, equals: "42501", "\(statement.sql): \(error)")
                }
                try await check(store.read(name), equals: Data("1".utf8))
                try await check(store.read(name + "-mark"), equals: Data("1".utf8))
                try await store.remove([name, name + "-mark"])
            }

            @Test
            func `no role removes an entry of a chain, or takes the name of a removed object`()
                async throws
            {
                let group = UUID().uuidString.lowercased().replacing("-", with: "")
                let (entry, batch) = ("\(group)/m/1", "\(group)/d/1/1")
                for name in [entry, batch] {
                    try await check(store.create(name, Data("1".utf8)))
                }
                try await store.remove([entry, batch])
                try await check(store.read(entry), equals: Data("1".utf8))
                try await check(store.read(batch) == nil)
                try await check(!store.create(batch, Data("2".utf8)))
                try await check(store.read(batch) == nil)
                for statement in [
                    Statement("SELECT * FROM securestorage_name"),
                    Statement("DELETE FROM securestorage_name"),
                    Statement("INSERT INTO securestorage_name VALUES ('test', 'x')"),
                ] {
                    let error = try await TestServer.failure {
                        try await TestServer.run(TestServer.string, statement)
                    }
                    check(error.code, equals: "42501", "\(statement.sql)")
                }
                // Nor in one statement.
                try await check(store.create("\(group)/d/1/2", Data("1".utf8)))
                _ = try await TestServer.run(
                    TestServer.string,
                    Statement(
                        """
                        WITH d AS (DELETE FROM securestorage_object WHERE name LIKE '%/d/1/2'
                            RETURNING grp, name)
                        INSERT INTO securestorage_object (grp, name, bytes)
                        SELECT grp, name, '\\x00' FROM d
                        """))
                try await check(store.read("\(group)/d/1/2") == nil)
                // Of another group, the name is free.
                try await check(otherStore("other").create(batch, Data("2".utf8)))
            }

            @Test func `no mark is stored where a group's objects are`() async throws {
                let group = UUID().uuidString.lowercased().replacing("-", with: "")
                try await store.mark("\(group)/w", Data("1".utf8))
                for name in ["\(group)/m/1", "\(group)/s/1"] {
                    let error = try await TestServer.failure {
                        try await store.mark(name, Data("1".utf8))
                    }
                    check(error.code, equals: "42501")
                    try await check(store.read(name) == nil)
                }
                try await store.remove(["\(group)/w"])
            }

            @Test func `no role can replace an object`() async throws {
                try await check(store.create(name, Data("1".utf8)))
                for statement in [
                    Statement("UPDATE securestorage_object SET bytes = ''"),
                    Statement("UPDATE securestorage_object SET name = 'x'"),
                    Statement(
                        """
                        INSERT INTO securestorage_object (grp, name, bytes) VALUES ('test', $1, '')
                        ON CONFLICT (grp, name) DO UPDATE SET bytes = excluded.bytes
                        """, .text(name)),
                    Statement(
                        """
                        INSERT INTO securestorage_object (grp, name, bytes, at)
                        VALUES ('test', 'x', '', '2000-01-01')
                        """),
                ] {
                    let error = try await TestServer.failure {
                        try await TestServer.run(TestServer.string, statement)
                    }
                    check(error.code, equals: "42501", "\(statement.sql): \(error)")
                }
                try await check(store.read(name), equals: Data("1".utf8))
                try await store.remove([name])
            }

            @Test func `the server refuses what is too large`() async throws {
                let error = try await TestServer.failure {
                    try await store.create(name, Data(count: 64 << 20 + 1))
                }
                check(error.code == "23514" && !error.isTransient)
                check(error.description.contains("64 MiB"))
                try await check(store.read(name) == nil)
            }

            @Test func `objects are durable even for roles that do not want it`() async throws {
                // Seen by a rule of the test's: the setting while its row is written. Other tests
                // write to the same server at the same time.
                try await TestServer.run(
                    TestServer.admin,
                    script: """
                        ALTER ROLE tester SET synchronous_commit = off;
                        CREATE TABLE seen (value text); GRANT INSERT ON seen TO tester;
                        CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                            INSERT INTO seen VALUES (current_setting('synchronous_commit'));
                            RETURN NULL; END $$;
                        CREATE TRIGGER see AFTER INSERT ON securestorage_object
                            FOR EACH ROW WHEN (NEW.name = '\(name)') EXECUTE FUNCTION see();
                        """)
                let created = try? await store.create(name, Data())
                let rows = try await TestServer.run(
                    TestServer.admin, Statement("SELECT value FROM seen"))
                try await TestServer.run(
                    TestServer.admin,
                    script: """
                        DROP TRIGGER see ON securestorage_object; DROP FUNCTION see; DROP TABLE seen;
                        ALTER ROLE tester RESET synchronous_commit;
                        """)
                check(created, equals: true)
                check(rows.values.map { $0[0]?.text }, equals: ["on"])
                try await store.remove([name])
            }
        }
    }
#endif
