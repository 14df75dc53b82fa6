#if PostgreSQL
    import Foundation
    import SecureSync
    import PostgreSQLStore
    import SyncTestKit
    import TestSupport
    import Testing

    extension PostgreSQLTests {
        /// What every store promises.
        @Suite(.serialized) struct ConformanceTests {
            @Test(arguments: StoreConformance.Check.allCases, [false, true])
            func `PostgreSQL keeps what a store promises`(
                _ check: StoreConformance.Check, notifies: Bool
            ) async throws {
                try await StoreConformance(under: TestServer.prefix()) {
                    try TestServer.store(notifies: notifies)
                }.run(check)
            }

            @Test func `of 8 racers for 200 names, one creates each`() async throws {
                let prefix = TestServer.prefix()
                let winners = try await withThrowingTaskGroup(of: [Int].self) { group in
                    for racer in 0..<8 {
                        group.addTask {
                            let store = try TestServer.store(connections: 2)
                            var won: [Int] = []
                            for index in 0..<200
                            where try await store.create("\(prefix)\(index)", Data([UInt8(racer)]))
                            {
                                won.append(index)
                            }
                            return won
                        }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                check(winners.sorted(), equals: Array(0..<200))
                let store = try TestServer.store()
                let names = try await store.listAll(prefix).map(\.name)
                check(names.count, equals: 200)
                try await store.remove(names)
            }

            @Test func `a mark is seen at once if it is sent`() async throws {
                let (writer, reader) = (
                    try TestServer.store(notifies: true), try TestServer.store(notifies: true)
                )
                let name = TestServer.prefix() + "mark"
                try await writer.mark(name, Data("1".utf8))
                let tag = try await reader.waitForMark(name, since: nil, atMost: .seconds(30))
                // So long that looking by itself has slowed down to pauses of 5 seconds.
                async let seen = reader.waitForMark(name, since: tag, atMost: .seconds(30))
                try await Task.sleep(for: .seconds(7))
                let start = ContinuousClock.now
                try await writer.mark(name, Data("2".utf8))
                let next = try await seen
                check(next != nil && next != tag)
                check(ContinuousClock.now - start < .seconds(4))
                try await writer.remove([name])
            }

            @Test func `a mark that was removed and set again has changed`() async throws {
                let store = try TestServer.store()
                let name = TestServer.prefix() + "mark"
                try await store.mark(name, Data("1".utf8))
                let tag = try await store.waitForMark(name, since: nil, atMost: .seconds(5))
                try await store.remove([name])
                try await store.mark(name, Data("1".utf8))
                let next = try await store.waitForMark(name, since: tag, atMost: .seconds(5))
                check(next != nil && next != tag)
                try await store.remove([name])
            }

            @Test func `a closed store ends its calls, and has no others`() async throws {
                let store = try TestServer.store(connections: 1, patience: .seconds(1))
                let name = TestServer.prefix() + "a"
                async let created = store.create(name, Data(count: 1 << 20))
                try await Task.sleep(for: .milliseconds(200))
                await store.close()
                try await check(created)
                let error = try await TestServer.failure { try await store.read(name) }
                check(error.code, equals: "08003")
                await store.close()
                try await TestServer.store().remove([name])
            }

            @Test func `many calls share few connections`() async throws {
                let store = try TestServer.store(connections: 2)
                let prefix = TestServer.prefix()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for index in 0..<100 {
                        group.addTask { _ = try await store.create("\(prefix)\(index)", Data()) }
                    }
                    // Some of those that wait give up.
                    for _ in 0..<50 {
                        group.addTask {
                            let call = Task { try await store.read("\(prefix)x") }
                            call.cancel()
                            if case .failure(let error) = await call.result {
                                check(error is CancellationError)
                            }
                        }
                    }
                    try await group.waitForAll()
                }
                let names = try await store.listAll(prefix).map(\.name)
                check(names.count, equals: 100)
                try await store.remove(names)
            }
        }
    }
#endif
