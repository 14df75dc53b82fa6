#if os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Compiles the documentation's examples of what the compiler refuses.
    struct CompileErrorTests {
        private static let modules = URL(fileURLWithPath: CommandLine.arguments[0])
            .deletingLastPathComponent()

        /// The blocks between "```swift wrong" and "```", whose last line names the error.
        static let wrongSnippets: [String] = {
            let text = (try? Checkout.text("Docs/Concurrency.md")) ?? ""
            return text.components(separatedBy: "```swift wrong\n").dropFirst().map {
                $0.components(separatedBy: "```")[0]
            }
        }()

        /// Compiles statements in a function that has a store, a queue and a pool.
        private func compile(_ statements: String) throws -> ChildProcess {
            let temporary = try TemporaryDatabase(name: "snippet.swift")
            let source = temporary.url
            try """
            import Foundation
            import SecureStorage

            func snippet(
                db: SecureDatabaseStore, queue: SecureDatabaseQueue, pool: SecureDatabasePool
            ) async throws {
            \(statements)
            }
            """.write(to: source, atomically: true, encoding: .utf8)
            let header = try ChildProcess("pkg-config", ["--cflags-only-I", "sqlcipher"]).output
            let build = Self.modules.path
            return try ChildProcess(
                "swiftc",
                [
                    "-swift-version", "6", "-emit-sil", "-o", "/dev/null", source.path,
                    "-I", "\(build)/Modules",
                    "-Xcc",
                    "-fmodule-map-file=\(build)/CSecureStoragePlatform.build/module.modulemap",
                    "-Xcc", "-fmodule-map-file=\(build)/CSQLCipher.build/module.modulemap",
                ] + header.split(whereSeparator: \.isWhitespace).flatMap { ["-Xcc", String($0)] })
        }

        @Test func `correct code compiles with this setup`() throws {
            let right = try compile(
                "_ = try await pool.read { db in try db.int(forQuery: \"SELECT 1\") }")
            check(right.status, equals: 0, "\(right.output)\(right.errors)")
            check(Self.wrongSnippets.count, equals: 4)
        }

        // A block that returns true is rolled back.
        @Test func `what an update returns does not say whether its transaction is rolled back`()
            throws
        {
            let refusal = try compile(
                """
                try await queue.inExclusiveTransaction { db in
                    try db.update(["text": "x"], in: "note", key: ["id": 1])
                }
                """)
            check(refusal.status != 0)
            check(refusal.errors.contains("'Int'"), "\(refusal.errors)")
            check(refusal.errors.contains("'Bool'"), "\(refusal.errors)")
        }

        @Test(arguments: wrongSnippets)
        func `the compiler refuses each wrong example for the stated reason`(
            _ snippet: String
        ) throws {
            let reason = try require(snippet.components(separatedBy: "// error: ").last)
            let refusal = try compile(snippet)
            check(refusal.status != 0)
            let said = "\(refusal.output)\(refusal.errors)"
            check(
                said.contains(reason.trimmingCharacters(in: .whitespacesAndNewlines)), "\(said)")
        }
    }
#endif
