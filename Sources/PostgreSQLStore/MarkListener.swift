#if PostgreSQL
    internal import Crypto
    internal import Foundation
    internal import SecureStoragePlatform

    /// A connection that listens for marks, on a thread of its own.
    ///
    /// It only shortens the pauses between looks at a mark: without it, or while it connects again,
    /// marks are seen a little later. The thread starts with the first call that waits.
    final class MarkListener: Sendable {
        /// The channel's name; every role of the database may listen to it and notify there, so
        /// that payloads say nothing to those who do not know the names.
        static let listen = Statement("LISTEN securestorage_mark")

        /// Sets a mark, and tells those who listen.
        static func notifyingMark(_ group: String, _ name: String, _ bytes: Data) -> Statement {
            Statement(
                """
                WITH mark AS (
                    INSERT INTO securestorage_mark AS k (grp, name, bytes) VALUES ($1, $2, $3)
                    ON CONFLICT (grp, name) DO UPDATE SET bytes = excluded.bytes, version = k.version + 1
                    RETURNING version)
                SELECT pg_notify('securestorage_mark', $4)::text FROM mark
                """, .text(group), .text(name), .bytes(bytes), .text(payload(group, name)))
        }

        /// What notifications of a mark carry.
        static func payload(_ group: String, _ name: String) -> String {
            var bytes = Data(group.utf8)
            // No text of PostgreSQL has this character.
            bytes.append(0)
            bytes.append(contentsOf: name.utf8)
            return Hex.text(SHA256.hash(data: bytes))
        }

        private struct State {
            var isStarted = false
            var lastID = 0
            var waiting: [Int: (payload: String, caller: CheckedContinuation<Void, Never>)] = [:]
            /// How often each payload arrived, and all that may have been missed.
            var arrived: [String: Int] = [:]
            var missed = 0
        }

        private let state = Locked(State())
        private let stopped: Wake
        private let options: @Sendable () throws -> ConnectionOptions

        init(_ options: @escaping @Sendable () throws -> ConnectionOptions) throws {
            self.options = options
            stopped = try Wake()
        }

        /// Ends the thread, and the waiting of all callers.
        func stop() {
            stopped.set()
            deliver(nil)
        }

        // MARK: - Waiting

        /// Returns a number that grows with each notification of a mark.
        func count(_ payload: String) -> Int {
            state.withLock { $0.missed + $0.arrived[payload, default: 0] }
        }

        /// Waits until the count differs from `count`, at most for a duration.
        func wait(_ payload: String, beyond count: Int, atMost limit: Duration) async throws {
            start()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await Task.sleep(for: limit) }
                group.addTask { await self.wait(payload, beyond: count) }
                try await group.next()
                group.cancelAll()
            }
            try Task.checkCancellation()
        }

        private func wait(_ payload: String, beyond count: Int) async {
            let id = state.withLock {
                $0.lastID += 1
                return $0.lastID
            }
            await withTaskCancellationHandler {
                await withCheckedContinuation { caller in
                    let isOver = state.withLock {
                        let now = $0.missed + $0.arrived[payload, default: 0]
                        if Task.isCancelled || stopped.isOn || now != count { return true }
                        $0.waiting[id] = (payload, caller)
                        return false
                    }
                    if isOver { caller.resume() }
                }
            } onCancel: {
                state.withLock { $0.waiting.removeValue(forKey: id) }?.caller.resume()
            }
        }

        /// Wakes those who wait for a payload; nil: everybody.
        private func deliver(_ payload: String?) {
            let callers = state.withLock { state in
                if let payload {
                    state.arrived[payload, default: 0] += 1
                } else {
                    state.missed += 1
                }
                let due = state.waiting.filter { payload == nil || $0.value.payload == payload }
                for id in due.keys { state.waiting[id] = nil }
                // Payloads are chosen by others; this number must not grow with them.
                if state.arrived.count > 1000 {
                    state.arrived = [:]
                    state.missed += 1_000_000
                }
                return due.values.map(\.caller)
            }
            for caller in callers { caller.resume() }
        }

        // MARK: - The thread

        private func start() {
            let isFirst = state.withLock { state in
                defer { state.isStarted = true }
                return !state.isStarted
            }
            if isFirst { Thread.detachNewThread { self.listen() } }
        }

        // Has no end; its pauses are limited.
        private static var backoff: Backoff {
            Backoff(
                patience: .seconds(1 << 40), first: .milliseconds(50), longest: .seconds(30))
        }

        private func listen() {
            var backoff = Self.backoff
            while !stopped.isOn {
                do {
                    let connection = try Connection(wake: stopped)
                    try connection.open(options(), atMost: .seconds(10))
                    _ = try connection.run(Self.listen, silence: .seconds(30))
                    backoff = Self.backoff
                    deliver(nil)
                    while true {
                        for payload in try connection.notifications(atMost: .seconds(60)) {
                            deliver(payload)
                        }
                    }
                } catch {
                    // Those who wait look for themselves, and get the errors there.
                    if let pause = backoff.next() { stopped.wait(atMost: pause) }
                }
            }
        }
    }
#endif
