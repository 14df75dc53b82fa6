#if PostgreSQL
    import Foundation
    import SecureSync
    import TestSupport
    import Testing

    @testable import PostgreSQLStore

    /// What is added to a connection string; no server is needed.
    struct PostgreSQLConnectionOptionsTests {
        private func options(
            _ string: String, _ environment: [String: String] = [:]
        ) throws -> [String: String] {
            try ConnectionOptions(string, patience: .seconds(30), environment: environment).values
        }

        @Test(arguments: [
            "host=db.example.org", "host=10.0.0.1", "postgresql://alice@db.example.org/app",
            "host=/run/postgresql,db.example.org", "host=localhost hostaddr=10.0.0.1",
            "host=127.example.com", "host=localhost.example.com", "service=app", "host=::2",
        ])
        func `servers elsewhere have to prove who they are`(_ string: String) throws {
            try check(options(string)["sslmode"], equals: "verify-full")
        }

        @Test(arguments: [
            "", "host=/run/postgresql", "host=localhost", "host=127.0.0.1", "host=::1",
            "host=@abstract", "host=LOCALHOST,127.1.2.3", "host=db.example.org hostaddr=127.0.0.1",
            "postgresql:///app",
        ])
        func `on this machine libpq's default remains`(_ string: String) throws {
            try check(options(string)["sslmode"] == nil)
        }

        @Test func `the environment may name a server elsewhere`() throws {
            try check(options("", ["PGHOST": "db.example.org"])["sslmode"], equals: "verify-full")
            try check(options("", ["PGHOSTADDR": "10.0.0.1"])["sslmode"], equals: "verify-full")
            try check(options("", ["PGSERVICE": "app"])["sslmode"], equals: "verify-full")
            try check(options("host=/tmp", ["PGHOST": "db.example.org"])["sslmode"] == nil)
        }

        @Test func `what is named remains`() throws {
            let named = try options("host=db.example.org sslmode=require keepalives_idle=60")
            check(named["sslmode"] == "require" && named["keepalives_idle"] == "60")
            check(named["sslrootcert"] == nil)
            let file = try options("host=db.example.org sslrootcert=/etc/ca.pem")
            check(file["sslrootcert"] == "/etc/ca.pem" && file["sslmode"] == "verify-full")
        }

        @Test func `texts are shown without the password`() throws {
            let options = try ConnectionOptions(
                "host=a password=secret-word", patience: .zero, environment: [:])
            check(options.redacted("a secret-word b"), equals: "a … b")
            var dumped = ""
            dump(options, to: &dumped)
            for text in ["\(options)", String(reflecting: options), dumped] {
                check(!text.contains("secret-word"))
            }
        }

        @Test(arguments: [
            ("08006", true), ("57P01", true), ("57P03", true), ("53300", true), ("40001", true),
            ("25006", true), ("28P01", false), ("3D000", false), ("42P01", false), ("42501", false),
            ("22021", false), ("08004", false), ("57P04", false),
        ])
        func `codes say whether a call may be repeated`(_ code: String, isTransient: Bool) {
            check(Failures.isTransient(code), equals: isTransient)
        }

        @Test func `the code of a failed connection is found in any language`() {
            let german =
                "connection to server at \"db\" failed: FATAL:  28P01: Passwort falsch\nORT:  auth.c:1"
            guard
                case .failed("28P01", let message, false) = Failures.connection(
                    german, needsPassword: false)
            else {
                Issue.record("the code is not found")
                return
            }
            check(message.contains("FATAL: Passwort falsch"))
            check(!message.contains("auth.c"))
        }

        @Test func `arrays are sent as the server reads them`() {
            let array = Statement.Parameter.texts(["ab", ""]).binary
            let expected: [UInt8] = [
                0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 25, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 97, 98, 0,
                0, 0, 0,
            ]
            check(Array(array), equals: expected)
            check(
                Array(Statement.Parameter.texts([]).binary),
                equals: [
                    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 25,
                ])
        }
    }
#endif
