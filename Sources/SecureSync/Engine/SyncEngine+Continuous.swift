internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

// Continuous sync until cancelled.
extension SyncEngine {

    /// Sends and applies whenever there is something to do, until the task is cancelled.
    ///
    /// Local writes, by any process, are sent after one second without another write, and after
    /// five seconds at the latest. Others' changes arrive when the store shows the mark that they
    /// set: at once in PostgreSQL, after half a second in a directory, and after 1 to 15 seconds in
    /// a bucket, depending on its setting. A mark may be lost, so the store is also checked every
    /// hour. A failure that may be temporary is shown in ``status``, and retried after 1 second,
    /// then 2, and so on up to five minutes.
    ///
    /// - Throws: `CancellationError`; ``SyncError`` of kinds that are not temporary; the errors of
    ///   the database.
    public func run() async throws {
        let (wakes, wake) = AsyncStream.makeStream(
            of: Void.self, bufferingPolicy: .bufferingNewest(1))
        _ = try await currentGroup()
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { [self] in try await watchFile(wake) }
            tasks.addTask { [self] in try await watchStore(wake) }
            tasks.addTask { [self] in try await follow(wakes) }
            defer { tasks.cancelAll() }
            try await tasks.next()
        }
    }

    private func follow(_ wakes: AsyncStream<Void>) async throws {
        var wakes = wakes.makeAsyncIterator()
        var pause = Duration.seconds(1)
        while true {
            do {
                try await syncOnce()
                pause = .seconds(1)
            } catch let error as SyncError where error.isTransient {
                changes.update { [pause] in $0.nextTry = Date() + pause / .seconds(1) }
                try await Task.sleep(for: pause * Double.random(in: 0.8...1.2))
                pause = min(pause * 2, .seconds(300))
                continue
            } catch let error as SyncError where error.mayPass {
                // Shown in the status.
                try await Task.sleep(for: pause)
                pause = min(pause * 2, .seconds(60))
                continue
            }
            guard await wakes.next() != nil else { throw CancellationError() }
            try Task.checkCancellation()
        }
    }

    /// Wakes after local writes, a second after the last one and at most five after the first.
    private func watchFile(_ wake: AsyncStream<Void>.Continuation) async throws {
        let tables = try await database.read { [capture] in try capture.shapes(in: $0).map(\.table)
        }
        var changes = database.changes(in: tables).makeAsyncIterator()
        while await changes.next() != nil {
            let first = ContinuousClock.now
            var (seen, waiting) = (Int64?.none, try await waitingMarks())
            // Applied changes also wake this loop, but leave no marks.
            while waiting != seen, ContinuousClock.now - first < .seconds(5) {
                try await Task.sleep(for: .seconds(1))
                (seen, waiting) = (waiting, try await waitingMarks())
            }
            if waiting != nil { wake.yield() }
        }
        throw CancellationError()
    }

    /// Wakes when another member sends something.
    private func watchStore(_ wake: AsyncStream<Void>.Continuation) async throws {
        var tag: String?
        var looked = ContinuousClock.now
        while true {
            try Task.checkCancellation()
            do {
                // Another group may have replaced this one.
                let name = SyncNames.mark(group: try await currentGroup().id)
                let begun = ContinuousClock.now
                let next = try await store.waitForMark(name, since: tag, atMost: .seconds(60))
                guard next != nil || ContinuousClock.now - looked > .seconds(3600) else {
                    // A store may return too early.
                    try await Task.sleep(until: begun + .seconds(1), clock: .continuous)
                    continue
                }
                tag = next ?? tag
                looked = .now
                wake.yield()
            } catch let error as SyncError where error.isTransient {
                try await Task.sleep(for: .seconds(5))
            }
        }
    }
}
