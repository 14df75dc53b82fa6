#if PostgreSQL
    import Foundation
    import ObjectStores
    import SecureStoragePlatform
    import SecureSync
    import Testing
    import TestSupport

    @testable import PostgreSQLStore

    extension PostgreSQLTests {
        /// A server that goes away, and connections that break.
        @Suite(.serialized, .enabled(if: TestServer.isOwn))
        struct OutageTests {
            private let prefix = TestServer.prefix()

            /// A store whose connections go through a proxy; without TLS, so that bytes can be
            /// counted.
            private func proxied(
                patience: Duration = .seconds(30), connections: Int = 1
            ) throws -> (CuttingProxy, PostgreSQLObjectStore) {
                let target = UInt16(try TestServer.option("port", TestServer.string)) ?? 0
                let proxy = try CuttingProxy(to: target)
                return (
                    proxy,
                    try TestServer.store(
                        "port=\(proxy.port) sslmode=disable", connections: connections,
                        patience: patience)
                )
            }

            @Test func `calls outlast a server that crashes and returns`() async throws {
                let store = try TestServer.store()
                let created = Locked<[String: Bool]>([:])
                let isOver = Locked(false)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for worker in 0..<6 {
                        group.addTask {
                            var index = 0
                            while !isOver.withLock({ $0 }) {
                                let name = "\(prefix)\(worker)/\(index)"
                                let isNew = try await store.create(name, Data(name.utf8))
                                created.withLock { $0[name] = isNew }
                                index += 1
                            }
                        }
                    }
                    group.addTask {
                        for _ in 0..<3 {
                            try await Task.sleep(for: .milliseconds(500))
                            try await TestServer.server("kill")
                            try await Task.sleep(for: .milliseconds(300))
                            try await TestServer.server("start")
                        }
                        try await Task.sleep(for: .milliseconds(500))
                        isOver.withLock { $0 = true }
                    }
                    try await group.waitForAll()
                }
                let names = created.withLock { $0 }
                check(names.count > 100)
                let listed = Set(try await store.listAll(prefix).map(\.name))
                // Whatever a call has returned for survives; what false means is checked by
                // reading.
                check(listed, equals: Set(names.keys))
                for name in names.keys where names[name] == false {
                    try await check(store.read(name), equals: Data(name.utf8))
                }
                try await store.remove(Array(listed))
            }

            @Test func `without patience, a server that is away is an error for now`() async throws
            {
                let store = try TestServer.store(patience: .zero)
                _ = try await store.list(prefix, after: nil)
                try await TestServer.server("kill")
                var errors: [StoreError] = []
                for _ in 0..<3 {
                    errors.append(
                        try await TestServer.failure { try await store.read(prefix + "a") })
                }
                try await TestServer.server("start")
                for error in errors {
                    check(error.isTransient, "\(error)")
                    check(["08006", "57P01", "57P02"].contains(error.code), "\(error)")
                }
                try await check(store.read(prefix + "a") == nil)
            }

            @Test func `patience has an end`() async throws {
                let (proxy, store) = try proxied(patience: .seconds(2))
                defer { proxy.stop() }
                proxy.cut(refusing: true)
                let start = ContinuousClock.now
                let error = try await TestServer.failure { try await store.read(prefix + "a") }
                check(error.isTransient && error.code == "08006", "\(error)")
                let passed = ContinuousClock.now - start
                check(passed > .milliseconds(500))
            }

            @Test func `a cut connection is opened again`() async throws {
                let (proxy, store) = try proxied()
                defer { proxy.stop() }
                for round in 0..<5 {
                    try await check(store.create("\(prefix)\(round)", Data(count: 100_000)))
                    proxy.cut()
                }
                try await check(store.listAll(prefix).count, equals: 5)
                check(proxy.accepted, equals: 6)
                try await store.remove((0..<5).map { "\(prefix)\($0)" })
            }

            @Test func `a cut at any byte of the answers loses nothing`() async throws {
                let (proxy, store) = try proxied()
                defer { proxy.stop() }
                let content = Data("content".utf8)
                var repeated = 0
                for count in 0..<120 {
                    let name = "\(prefix)\(count)"
                    proxy.cut(after: count, of: .answers)
                    if try await !store.create(name, content) { repeated += 1 }
                    try await check(store.read(name), equals: content)
                }
                // Those whose answer was lost after the object was created.
                check(repeated > 0)
                let names = try await store.listAll(prefix).map(\.name)
                check(names.count, equals: 120)
                try await store.remove(names)
            }

            @Test func `a large object is sent again after a cut`() async throws {
                let (proxy, store) = try proxied()
                defer { proxy.stop() }
                let content = Data((0..<8 << 20).map { UInt8(truncatingIfNeeded: $0 &* 7) })
                async let created = store.create(prefix + "large", content)
                try await Task.sleep(for: .milliseconds(30))
                proxy.cut()
                _ = try await created
                try await check(store.read(prefix + "large"), equals: content)
                try await store.remove([prefix + "large"])
            }

            @Test func `a connection that hangs ends when the task is cancelled`()
                async throws
            {
                let (proxy, store) = try proxied(patience: .seconds(300))
                defer { proxy.stop() }
                _ = try await store.read(prefix + "a")
                proxy.stall()
                let call = Task { try await store.read(prefix + "a") }
                try await Task.sleep(for: .milliseconds(200))
                let start = ContinuousClock.now
                call.cancel()
                await #expect(throws: CancellationError.self) { _ = try await call.value }
                check(ContinuousClock.now - start < .seconds(100), "not its patience")
                // So does one that is being opened.
                let opening = Task { try await store.read(prefix + "a") }
                try await Task.sleep(for: .milliseconds(200))
                opening.cancel()
                await #expect(throws: CancellationError.self) { _ = try await opening.value }
                proxy.allow()
                try await check(store.read(prefix + "a") == nil)
            }

            @Test func `a cancelled statement ends on the server`() async throws {
                let store = try TestServer.store(
                    "application_name=cancelled", patience: .seconds(300))
                _ = try await store.read(prefix + "a")
                let blocker = try await TestServer.connect(TestServer.admin)
                try blocker.run(
                    script: "BEGIN; LOCK TABLE securestorage_object", silence: .seconds(10))
                let call = Task { try await store.read(prefix + "a") }
                let waiting = Statement(
                    """
                    SELECT 1 FROM pg_stat_activity
                    WHERE application_name = 'cancelled' AND wait_event_type = 'Lock'
                    """)
                while try await TestServer.run(TestServer.admin, waiting).isEmpty {
                    try await Task.sleep(for: .milliseconds(50))
                }
                let start = ContinuousClock.now
                call.cancel()
                await #expect(throws: CancellationError.self) { _ = try await call.value }
                check(ContinuousClock.now - start < .seconds(100), "not its patience")
                // The lock is still held, so that only a cancellation ends the statement.
                while try await !TestServer.run(TestServer.admin, waiting).isEmpty {
                    try require(ContinuousClock.now - start < .seconds(120))
                    try await Task.sleep(for: .milliseconds(50))
                }
                try blocker.run(script: "ROLLBACK", silence: .seconds(10))
                try await check(store.read(prefix + "a") == nil)
            }

            @Test func `sent marks are seen after the server was away`() async throws {
                let (writer, reader) = (
                    try TestServer.store(notifies: true), try TestServer.store(notifies: true)
                )
                let name = prefix + "mark"
                try await writer.mark(name, Data("1".utf8))
                let tag = try await reader.waitForMark(name, since: nil, atMost: .seconds(30))
                async let seen = reader.waitForMark(name, since: tag, atMost: .seconds(30))
                try await Task.sleep(for: .seconds(1))
                try await TestServer.server("kill")
                try await TestServer.server("start")
                try await writer.mark(name, Data("2".utf8))
                let next = try await seen
                check(next != nil && next != tag)
                try await writer.remove([name])
            }

            @Test func `the listening connection is opened again`() async throws {
                let writer = try TestServer.store(notifies: true)
                let name = prefix + "mark"
                let payload = MarkListener.payload("test", name)
                let string = try require(TestServer.string)
                let listener = try MarkListener {
                    try ConnectionOptions(string, patience: .seconds(30), environment: [:])
                }
                defer { listener.stop() }
                for isRestarted in [false, true] {
                    if isRestarted {
                        try await TestServer.server("kill")
                        try await TestServer.server("start")
                    }
                    // The count also grows once when the connection is open.
                    var successes = 0
                    for _ in 0..<30 where successes < 3 {
                        let count = listener.count(payload)
                        try await writer.mark(name, Data("1".utf8))
                        try await listener.wait(payload, beyond: count, atMost: .seconds(1))
                        successes = listener.count(payload) == count + 1 ? successes + 1 : 0
                    }
                    check(successes, equals: 3)
                }
                try await writer.remove([name])
            }

            @Test func `a store that is released closes its connections`() async throws {
                let count = Statement(
                    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'released'")
                for notifies in [false, true] {
                    let name = prefix + "mark"
                    do {
                        let store = try TestServer.store(
                            "application_name=released", notifies: notifies)
                        let limit = Duration.milliseconds(500)
                        _ = try await store.waitForMark(name, since: nil, atMost: limit)
                        let open = try await TestServer.run(TestServer.admin, count).values[0][0]
                        check(open?.bigEndianInteger, equals: (notifies ? 2 : 1))
                    }
                    let start = ContinuousClock.now
                    while try await TestServer.run(TestServer.admin, count).values[0][0]?
                        .bigEndianInteger != 0
                    {
                        try require(ContinuousClock.now - start < .seconds(120))
                        try await Task.sleep(for: .milliseconds(50))
                    }
                }
            }
        }
    }
#endif
