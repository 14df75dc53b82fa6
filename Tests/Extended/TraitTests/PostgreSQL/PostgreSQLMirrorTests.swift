#if PostgreSQL
    import Foundation
    import StoreChecks
    import SecureMirror
    import SecureStorage
    import SecureStoragePlatform
    import SecureSync
    import Testing
    import TestSupport

    extension PostgreSQLTests {
        /// A mirror whose server is killed; `MirrorStoreTests` has the other tests of mirrors.
        @Suite(.serialized, .enabled(if: TestServer.isOwn))
        struct MirrorTests {
            private let home: TemporaryDatabase

            init() throws {
                home = try TemporaryDatabase()
                try Ledger.create(at: home)
            }

            /// A part of a campaign's number: each waits for a server to return.
            private static func rounds(usual: Int) -> Int {
                let count = SuddenDeath.count(usual)
                return min(count, max(usual, count / 50))
            }

            /// Kills and starts the server while `body` runs, and returns how often.
            private func disturbing(_ body: () async throws -> Void) async throws -> Int {
                let isOver = Locked(false)
                let disturbance = Task {
                    var kills = 0
                    while !isOver.withLock({ $0 }) {
                        try await Task.sleep(for: .milliseconds(.random(in: 50...1500)))
                        try await TestServer.server("kill")
                        kills += 1
                        try await Task.sleep(for: .milliseconds(.random(in: 0...300)))
                        try await TestServer.server("start")
                    }
                    return kills
                }
                let result: Result<Void, any Error>
                do {
                    result = .success(try await body())
                } catch {
                    result = .failure(error)
                }
                // In any case, so that the server runs for the next test.
                isOver.withLock { $0 = true }
                let kills = try await disturbance.value
                try result.get()
                return kills
            }

            @Test func `a mirror outlasts a server that crashes and returns`() async throws {
                let place = MirrorPlace(.postgresql, in: home.directory)
                let pool = try home.openPool()
                let mirror = try place.mirror(of: pool)
                let running = Task { try await mirror.run() }
                let kills = try await disturbing {
                    for _ in 0..<Self.rounds(usual: 8) {
                        let state = try await pool.write { try Ledger.commit($0) }
                        try await mirror.flush()
                        try await check(place.restored(), equals: state)
                        try await Task.sleep(for: .milliseconds(.random(in: 0...300)))
                    }
                }
                check(kills > 0)
                SuddenDeath.report("mirror over PostgreSQL: \(kills) kills of the server")
                running.cancel()
                await #expect(throws: CancellationError.self) { try await running.value }
                await pool.close()
                try await place.empty()
            }

            @Test func `an app that is killed while its server is, too, loses nothing`()
                async throws
            {
                let place = MirrorPlace(.postgresql, in: home.directory)
                let acknowledged = home.directory.appendingPathComponent("acknowledged")
                let kills = try await disturbing {
                    for round in 0..<Self.rounds(usual: 4) {
                        let worker = try Worker([
                            "app", home.path, place.description, acknowledged.path, "0",
                        ])
                        if round == 0 { try await NumberFile(acknowledged).wait() }
                        try await worker.kill(after: .milliseconds(.random(in: 100...3000)))
                        let stored = NumberFile(acknowledged).number
                        do {
                            let restored = try await place.restored()
                            check(restored.commits >= stored)
                        } catch MirrorError.noMirror where stored == 0 {
                            continue
                        }
                    }
                }
                check(NumberFile(acknowledged).number > 0)
                SuddenDeath.report("app over PostgreSQL: \(kills) kills of the server meanwhile")
                try await place.empty()
            }

            @Test func `the statements that the server logs have nothing of the content`()
                async throws
            {
                let settings = ["log_statement", "log_parameter_max_length"]
                let admin = TestServer.admin
                for (setting, value) in zip(settings, ["all", "-1"]) {
                    try await TestServer.run(
                        admin, script: "ALTER ROLE tester SET \(setting) = '\(value)'")
                }
                let place = MirrorPlace(.postgresql, in: home.directory)
                let pool = try home.openPool()
                let mirror = try place.mirror(of: pool)
                try await pool.write { try $0.executeStatements("CREATE TABLE canarybirds (x)") }
                try await mirror.flush()
                try await pool.write {
                    try $0.executeUpdate("INSERT INTO canarybirds VALUES ('canarybirdsvalue')")
                }
                try await mirror.flush()
                for setting in settings {
                    try await TestServer.run(admin, script: "ALTER ROLE tester RESET \(setting)")
                }
                let folder = try TestServer.option("host", admin)
                let log = try Data(contentsOf: URL(fileURLWithPath: folder + "/log"))
                let name = Data(place.name.utf8)
                check(log.range(of: name) != nil)
                check(!Canary.isIn(log))
                await pool.close()
                try await place.empty()
            }
        }
    }
#endif
