#if Tracing
    import Foundation
    import InMemoryTracing
    import Testing
    import TestSupport
    import Tracing

    @testable import SecureStorage

    @Suite struct TracingTests {
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
            #expect(spans.count == 1, "\(name): \(tracer.finishedSpans.map(\.operationName))")
            return try #require(spans.first)
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
            #expect(tracer.activeSpans.isEmpty)
            #expect(try parent(of: "write notes") == "caller")
            #expect(try parent(of: "read notes") == "caller")
            #expect(try parent(of: "INSERT t VALUES") == "write notes")
            #expect(try parent(of: "COMMIT") == "write notes")
            #expect(try parent(of: "SELECT t") == "read notes")
            #expect(try parent(of: "inside the write") == "write notes")
            #expect(try parent(of: "inside the read") == "read notes")
            #expect(try parent(of: "between") == "caller")
            #expect(try span("write notes").kind == .internal)
            #expect(try span("INSERT t VALUES").kind == .client)
            #expect(try span("write notes").attributes.get("db.system.name") == "sqlite")
            #expect(try span("write notes").attributes.get("db.operation.name") == "write")
            let statement = try span("INSERT t VALUES").attributes
            #expect(statement.get("db.namespace") == "notes")
            #expect(statement.get("db.query.summary") == "INSERT t VALUES")
            #expect(statement.get("db.query.text") == "INSERT INTO t VALUES (?)")
            #expect(statement.get("securestorage.rows.changed") == 1)
            #expect(try span("SELECT t").attributes.get("db.response.returned_rows") == 1)
            for span in tracer.finishedSpans {
                #expect(span.status == nil)
                #expect(
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
            #expect(try parent(of: "SELECT t") == "write notes")
            let calls = tracer.finishedSpans.filter { $0.kind == .internal }
            #expect(calls.map(\.operationName) == ["write notes"])
        }

        @Test func `statements of a store belong to the caller's span`() throws {
            let db = try database.openStore(configure: configure)
            try tracer.withSpan("caller") { _ in
                try db.executeUpdate("INSERT INTO t VALUES (1)")
            }
            #expect(try parent(of: "INSERT t VALUES") == "caller")
        }

        @Test(arguments: Kind.allCases)
        func `rows of a loop belong to the span of its task`(_ kind: Kind) async throws {
            let db = try open(kind)
            try await db.write { try $0.executeUpdate("INSERT INTO t VALUES (1)") }
            tracer.clearFinishedSpans()
            try await tracer.withSpan("caller") { _ in
                for try await _ in db.rows("SELECT a FROM t", map: { (a: Int) in a }) {}
            }
            #expect(try parent(of: "SELECT t") == "caller")
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
            #expect(waited > 0.05)
            #expect(ran >= 0.02)
            let whole = Double(
                write.endInstant.nanosecondsSinceEpoch - write.startInstant.nanosecondsSinceEpoch)
            #expect(waited + ran < whole / 1e9 + 0.01)
            let begin = try #require(write.events.first)
            #expect(begin.name == "securestorage.call.begins")
            #expect(
                begin.nanosecondsSinceEpoch - write.startInstant.nanosecondsSinceEpoch > 50_000_000)
            let first = try span("access notes")
            #expect(try seconds("securestorage.call.wait_time", first) < 0.05)
            #expect(try seconds("securestorage.call.run_time", first) > 0.05)
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
                #expect(try seconds("securestorage.lock.wait_time", span(name)) > 0.03)
            }
            #expect(try seconds("securestorage.call.run_time", span("write notes")) > 0.03)
            #expect(try seconds("securestorage.lock.wait_time", span("COMMIT")) < 0.03)
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
                #expect(span.status == SpanStatus(code: .error))
                #expect(span.attributes.get("error.type") == "2067")
                #expect(span.attributes.get("db.response.status_code") == "2067")
                #expect(span.errors.isEmpty)
            }
            #expect(try parent(of: "ROLLBACK") == "write notes")
        }

        private struct Refused: Error { let secret = "4711" }

        @Test func `an error of the block has its type`() throws {
            let db = try open(.queue)
            #expect(throws: Refused.self) { try db.read { _ in throw Refused() } }
            let read = try span("read notes")
            #expect(read.status?.code == .error)
            #expect(read.attributes.get("error.type") == "Refused")
            #expect(read.attributes.get("db.response.status_code") == nil)
            db.close()
            tracer.clearFinishedSpans()
            #expect(throws: SecureStorageError.closed) { try db.read { _ in } }
            #expect(try span("read notes").attributes.get("error.type") == "closed")
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
            let turn = try #require(await turns.next())
            let second = Task { try await db.write { _ in } }
            while !turn.hasWaiters { try await Task.sleep(for: .milliseconds(1)) }
            second.cancel()
            await #expect(throws: CancellationError.self) { try await second.value }
            let write = try span("write notes")
            #expect(write.attributes.get("error.type") == "CancellationError")
            #expect(write.events.isEmpty)
            #expect(try seconds("securestorage.call.run_time", write) == 0)
            isFree.signal()
            try await first
            #expect(tracer.activeSpans.isEmpty)
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
            #expect(tracer.activeSpans.isEmpty)
            #expect(try parent(of: "write notes") == "caller")
            #expect(try parent(of: "inside the write") == "write notes")
            let write = try span("write notes")
            #expect(write.attributes.get("error.type") == "CancellationError")
        }

        @Test func `only the first statements of a call have spans, and all are counted`() throws {
            let db = try open(.queue)
            try db.write { db in
                for number in 1...500 {
                    try db.executeUpdate("INSERT INTO t VALUES (?)", values: [number])
                }
            }
            #expect(tracer.finishedSpans.count == 101)
            // With BEGIN and COMMIT.
            #expect(try span("write notes").attributes.get("securestorage.statement.count") == 502)
        }
    }
#endif
