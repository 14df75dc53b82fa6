#if Tracing
    import Foundation
    import InMemoryTracing
    import Testing
    import TestSupport
    import Tracing

    @testable import SecureStorage

    struct TracingTests {
        let database: TemporaryDatabase
        let tracer = InMemoryTracer()

        init() throws {
            database = try TemporaryDatabase()
            let db = try database.openStore()
            try db.executeUpdate("CREATE TABLE t (a INTEGER UNIQUE)")
            db.close()
        }

        enum Kind: CaseIterable { case queue, pool }

        private func open(_ kind: Kind) throws -> any SecureDatabaseWriter {
            switch kind {
            case .queue:
                SecureDatabaseQueue(databaseStore: try database.openStore(configure: configure))
            case .pool: try database.openPool(configure: configure)
            }
        }

        private func configure(_ configuration: inout SecureDatabaseConfiguration) {
            configuration.tracer = tracer
            configuration.instrumentName = "notes"
        }

        /// The only span of a name.
        private func span(_ name: String) throws -> FinishedInMemorySpan {
            let spans = tracer.finishedSpans.filter { $0.operationName == name }
            check(spans.count, equals: 1, "\(name): \(tracer.finishedSpans.map(\.operationName))")
            return try require(spans.first)
        }

        private func parent(of name: String) throws -> String? {
            let id = try span(name).parentSpanID
            return tracer.finishedSpans.first { $0.spanID == id }?.operationName
        }

        private func seconds(_ name: String, _ span: FinishedInMemorySpan) throws -> Double {
            guard case .double(let value) = span.attributes.get(name) else {
                Issue.record("no number \(name)")
                return -1
            }
            return value
        }

        private func expectNesting() throws {
            check(tracer.activeSpans.isEmpty)
            try check(parent(of: "write notes"), equals: "caller")
            try check(parent(of: "read notes"), equals: "caller")
            try check(parent(of: "INSERT t VALUES"), equals: "write notes")
            try check(parent(of: "COMMIT"), equals: "write notes")
            try check(parent(of: "SELECT t"), equals: "read notes")
            try check(parent(of: "inside the write"), equals: "write notes")
            try check(parent(of: "inside the read"), equals: "read notes")
            try check(parent(of: "between"), equals: "caller")
            try check(span("write notes").kind, equals: .internal)
            try check(span("INSERT t VALUES").kind, equals: .client)
            try check(span("write notes").attributes.get("db.system.name"), equals: "sqlite")
            try check(span("write notes").attributes.get("db.operation.name"), equals: "write")
            let statement = try span("INSERT t VALUES").attributes
            check(statement.get("db.namespace"), equals: "notes")
            check(statement.get("db.query.summary"), equals: "INSERT t VALUES")
            check(statement.get("db.query.text"), equals: "INSERT INTO t VALUES (?)")
            check(statement.get("securestorage.rows.changed"), equals: 1)
            try check(span("SELECT t").attributes.get("db.response.returned_rows"), equals: 1)
            for span in tracer.finishedSpans {
                check(span.status == nil)
                check(
                    span.startInstant.nanosecondsSinceEpoch
                        <= span.endInstant.nanosecondsSinceEpoch)
            }
        }

        @Test(arguments: Kind.allCases)
        func `spans of synchronous calls nest`(_ kind: Kind) throws {
            let db = try open(kind)
            try tracer.withSpan("caller") { _ in
                try db.write { db in
                    try db.executeUpdate("INSERT INTO t VALUES (42)")
                    tracer.withSpan("inside the write") { _ in }
                }
                tracer.withSpan("between") { _ in }
                try db.read { db in
                    _ = try db.int(forQuery: "SELECT a FROM t")
                    tracer.withSpan("inside the read") { _ in }
                }
            }
            try expectNesting()
        }

        @Test(arguments: Kind.allCases)
        func `spans of asynchronous calls nest`(_ kind: Kind) async throws {
            let db = try open(kind)
            let tracer = tracer
            try await tracer.withSpan("caller") { _ in
                try await db.write { db in
                    try db.executeUpdate("INSERT INTO t VALUES (42)")
                    tracer.withSpan("inside the write") { _ in }
                }
                tracer.withSpan("between") { _ in }
                try await db.read { db in
                    _ = try db.int(forQuery: "SELECT a FROM t")
                    tracer.withSpan("inside the read") { _ in }
                }
            }
            try expectNesting()
        }

        @Test(arguments: Kind.allCases)
        func `a nested call is a part of the outer one's span`(_ kind: Kind) throws {
            let db = try open(kind)
            try db.write { _ in
                try db.read { _ = try $0.int(forQuery: "SELECT a FROM t") }
            }
            try check(parent(of: "SELECT t"), equals: "write notes")
            let calls = tracer.finishedSpans.filter { $0.kind == .internal }
            check(calls.map(\.operationName), equals: ["write notes"])
        }

        @Test func `statements of a store belong to the caller's span`() throws {
            let db = try database.openStore(configure: configure)
            try tracer.withSpan("caller") { _ in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
            }
            try check(parent(of: "INSERT t VALUES"), equals: "caller")
        }

        @Test(arguments: Kind.allCases)
        func `rows of a loop belong to the span of its task`(_ kind: Kind) async throws {
            let db = try open(kind)
            try await db.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            tracer.clearFinishedSpans()
            try await tracer.withSpan("caller") { _ in
                for try await _ in db.rows("SELECT a FROM t", map: { (a: Int) in a }) {}
            }
            try check(parent(of: "SELECT t"), equals: "caller")
        }

        @Test(arguments: Kind.allCases)
        func `waiting for the turn and running are told apart`(_ kind: Kind) throws {
            let db = try open(kind)
            let hasBegun = DispatchSemaphore(value: 0)
            let hasEnded = DispatchSemaphore(value: 0)
            let holder = Thread {
                try? db.writeWithoutTransaction { store in
                    hasBegun.signal()
                    while !store.turn.hasWaiters { Thread.sleep(forTimeInterval: 0.001) }
                    Thread.sleep(forTimeInterval: 0.1)
                }
                hasEnded.signal()
            }
            holder.start()
            hasBegun.wait()
            try db.write { _ in Thread.sleep(forTimeInterval: 0.02) }
            hasEnded.wait()
            let write = try span("write notes")
            let waited = try seconds("securestorage.call.wait_time", write)
            let ran = try seconds("securestorage.call.run_time", write)
            check(waited > 0.05)
            check(ran >= 0.02)
            let whole = Double(
                write.endInstant.nanosecondsSinceEpoch - write.startInstant.nanosecondsSinceEpoch)
            check(waited + ran < whole / 1e9 + 0.01)
            let begin = try require(write.events.first)
            check(begin.name, equals: "securestorage.call.begins")
            check(
                begin.nanosecondsSinceEpoch - write.startInstant.nanosecondsSinceEpoch > 50_000_000)
            let first = try span("access notes")
            try check(seconds("securestorage.call.wait_time", first) < 0.05)
            try check(seconds("securestorage.call.run_time", first) > 0.05)
        }

        @Test func `the wait for a lock of another connection is a part of the run`() throws {
            let db = try open(.queue)
            let other = SecureDatabaseQueue(databaseStore: try database.openStore())
            let hasLock = DispatchSemaphore(value: 0)
            let holder = Thread {
                try? other.write { _ in
                    hasLock.signal()
                    Thread.sleep(forTimeInterval: 0.1)
                }
            }
            holder.start()
            hasLock.wait()
            try db.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            for name in ["write notes", "BEGIN"] {
                try check(seconds("securestorage.lock.wait_time", span(name)) > 0.03)
            }
            try check(seconds("securestorage.call.run_time", span("write notes")) > 0.03)
            try check(seconds("securestorage.lock.wait_time", span("COMMIT")) < 0.03)
        }

        @Test(arguments: Kind.allCases)
        func `an error sets the status and its code, and no text`(_ kind: Kind) async throws {
            let db = try open(kind)
            try await db.write { try $0.executeUpdate("INSERT INTO t VALUES (4711)") }
            tracer.clearFinishedSpans()
            await #expect(throws: SecureStorageError.self) {
                try await db.write { try $0.executeUpdate("INSERT INTO t VALUES (4711)") }
            }
            for name in ["write notes", "INSERT t VALUES"] {
                let span = try span(name)
                check(span.status, equals: SpanStatus(code: .error))
                check(span.attributes.get("error.type"), equals: "2067")
                check(span.attributes.get("db.response.status_code"), equals: "2067")
                check(span.errors.isEmpty)
            }
            try check(parent(of: "ROLLBACK"), equals: "write notes")
        }

        private struct Refused: Error { let secret = "4711" }

        @Test func `an error of the block has its type`() throws {
            let db = try open(.queue)
            #expect(throws: Refused.self) { try db.read { _ in throw Refused() } }
            let read = try span("read notes")
            check(read.status?.code, equals: .error)
            check(read.attributes.get("error.type"), equals: "Refused")
            check(read.attributes.get("db.response.status_code") == nil)
            db.close()
            tracer.clearFinishedSpans()
            #expect(throws: SecureStorageError.closed) { try db.read { _ in } }
            try check(span("read notes").attributes.get("error.type"), equals: "closed")
        }

        @Test(arguments: Kind.allCases)
        func `the span of a call that is cancelled while it waits ends`(_ kind: Kind) async throws {
            let db = try open(kind)
            let (begun, beginning) = AsyncStream.makeStream(of: SerialTurn.self)
            let isFree = DispatchSemaphore(value: 0)
            async let first: Void = db.writeWithoutTransaction { store in
                beginning.yield(store.turn)
                isFree.wait()
            }
            var turns = begun.makeAsyncIterator()
            let turn = try await require(turns.next())
            let second = Task { try await db.write { _ in } }
            while !turn.hasWaiters { try await Task.sleep(for: .milliseconds(1)) }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            let write = try span("write notes")
            check(write.attributes.get("error.type"), equals: "CancellationError")
            check(write.events.isEmpty)
            try check(seconds("securestorage.call.run_time", write), equals: 0)
            isFree.signal()
            try await first
            check(tracer.activeSpans.isEmpty)
        }

        @Test(arguments: Kind.allCases)
        func `the spans of a call that is cancelled while it runs nest`(_ kind: Kind) async throws {
            let db = try open(kind)
            let tracer = tracer
            let (begun, beginning) = AsyncStream.makeStream(of: Void.self)
            let task = Task {
                try await tracer.withSpan("caller") { _ in
                    try await db.write { db in
                        beginning.finish()
                        try tracer.withSpan("inside the write") { _ in
                            try db.executeUpdate(
                                """
                                WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                                INSERT INTO t SELECT max(i) FROM n
                                """)
                        }
                    }
                }
            }
            for await _ in begun {}
            task.cancel()
            await #expect(throws: CancellationError.self) { try await task.value }
            check(tracer.activeSpans.isEmpty)
            try check(parent(of: "write notes"), equals: "caller")
            try check(parent(of: "inside the write"), equals: "write notes")
            let write = try span("write notes")
            check(write.attributes.get("error.type"), equals: "CancellationError")
        }

        @Test func `only the first statements of a call have spans, and all are counted`() throws {
            let db = try open(.queue)
            try db.write { db in
                for number in 1...500 {
                    try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
                }
            }
            check(tracer.finishedSpans.count, equals: 101)
            // With BEGIN and COMMIT.
            try check(
                span("write notes").attributes.get("securestorage.statement.count"), equals: 502)
        }
    }
#endif
