#if PostgreSQL
    import Foundation
    import ObjectStores
    import SecureSync
    import TestSupport
    import Testing

    @testable import PostgreSQLStore

    extension PostgreSQLTests {
        /// Errors of the setup: not repeated, with a code, and with what to do.
        @Suite(.serialized, .enabled(if: TestServer.isOwn))
        struct ErrorTests {
            /// Reads with a changed connection string, which has to fail at once.
            private func failure(_ more: String) async throws -> StoreError {
                let store = try TestServer.store(more, patience: .seconds(300))
                let start = ContinuousClock.now
                let error = try await TestServer.failure { try await store.read("a") }
                check(ContinuousClock.now - start < .seconds(100), "not its patience")
                check(!error.isTransient, "\(error)")
                try expectNoPassword(error)
                try expectNoPassword(store)
                return error
            }

            private func expectNoPassword(_ subject: Any) throws {
                var dumped = ""
                dump(subject, to: &dumped)
                let password = try TestServer.option("password", TestServer.string)
                for text in ["\(subject)", String(reflecting: subject), dumped] {
                    check(!text.contains(password) && !text.contains("wrong-word"), "\(text)")
                }
            }

            @Test func `a wrong password`() async throws {
                let error = try await failure("password=wrong-word")
                check(error.code, equals: "28P01")
                check(error.description.contains("check user and password"))
            }

            @Test func `a missing password`() async throws {
                let error = try await failure("password='' passfile=/dev/null")
                check(error.code, equals: "28P01")
                check(error.description.contains("check user and password"))
            }

            @Test func `an unknown role`() async throws {
                try await check(failure("user=nobody-knows").code, equals: "28P01")
            }

            @Test func `an unknown database`() async throws {
                let error = try await failure("dbname=missing")
                check(error.code, equals: "3D000")
                check(error.description.contains("create the database"))
            }

            @Test func `missing tables`() async throws {
                let error = try await failure("dbname=template1")
                check(error.code, equals: "42P01")
                check(error.description.contains("installSchema"))
            }

            @Test func `an unknown server is an error for now`() async throws {
                let store = try TestServer.store("host=does-not-exist.invalid", patience: .zero)
                let error = try await TestServer.failure { try await store.read("a") }
                check(error.code == "08006" && error.isTransient, "\(error)")
                try expectNoPassword(error)
            }

            @Test func `a server whose certificate cannot be verified`() async throws {
                // The first has no file of certificates, the second one that does not name the
                // host.
                let ca = try require(TestServer.variable("_CA"))
                for more in [
                    "sslmode=verify-full sslrootcert=/nowhere",
                    "sslmode=verify-full sslrootcert=\(ca)",
                ] {
                    try await check(failure(more).code, equals: "08001")
                }
                let store = try TestServer.store(
                    "host=localhost sslmode=verify-full sslrootcert=\(ca)")
                try await check(store.read("a") == nil)
            }

            @Test(arguments: [
                "password=wrong-word nonsense", "postgresql://a:wrong-word@[::1", "host",
                "password='wrong-word", "unknown=wrong-word", "host=a\0 password=wrong-word",
            ])
            func `a connection string that cannot be parsed`(_ string: String) async throws {
                let store = PostgreSQLObjectStore(connectionString: string, group: "test")
                let error = try await TestServer.failure { try await store.read("a") }
                check(error.code == "08001" && !error.isTransient)
                try expectNoPassword(error)
                await #expect(throws: StoreError.self) {
                    try await PostgreSQLObjectStore.installSchema(connectionString: string)
                }
            }

            @Test func `the tables are created where they are missing, also twice`() async throws {
                let admin = try require(TestServer.admin)
                try await TestServer.run(admin, script: "CREATE DATABASE installed")
                let string = admin + " dbname=installed"
                // At the same time, which needs the lock of the schema.
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            try await PostgreSQLObjectStore.installSchema(connectionString: string)
                        }
                    }
                    try await group.waitForAll()
                }
                let store = PostgreSQLObjectStore(connectionString: string, group: "new")
                // An owner sees everything, but is a member of nothing.
                let error = try await TestServer.failure { try await store.read("a") }
                check(error.code, equals: "42501")
                try await TestServer.run(
                    string, script: "INSERT INTO securestorage_member VALUES ('new', 'admin')")
                try await check(store.create("a", Data("1".utf8)))
                try await PostgreSQLObjectStore.installSchema(connectionString: string)
                try await check(store.read("a"), equals: Data("1".utf8))
                await store.close()
                try await TestServer.run(admin, script: "DROP DATABASE installed WITH (FORCE)")
            }

            @Test func `a role without rights cannot create tables`() async throws {
                let error = try await TestServer.failure {
                    try await PostgreSQLObjectStore.installSchema(
                        connectionString: try require(TestServer.string) + " dbname=template1")
                }
                check(error.code, equals: "42501", "\(error)")
                try expectNoPassword(error)
            }
        }
    }
#endif
