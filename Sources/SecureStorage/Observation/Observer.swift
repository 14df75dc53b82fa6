internal import Foundation
internal import Logging

/// What is observed: the store behind a queue or a pool, and how to get a turn of it.
struct ObservedStore: Sendable {
    let feed: ChangeFeed
    let path: String
    let logger: @Sendable (String) -> Void
    let schedule: ChangeFeed.Scheduler
    /// Keeps the queue or the pool.
    let owner: any Sendable & AnyObject
}

/// One who observes, until its last reference goes.
final class Observer: Sendable {
    let buffer: ChangeBuffer
    private let store: ObservedStore

    /// `whenFollowing` is called when everything that is committed from then on is seen.
    init(
        _ store: ObservedStore, _ buffer: ChangeBuffer,
        whenFollowing: @escaping @Sendable () -> Void = {}
    ) {
        self.store = store
        self.buffer = buffer
        store.feed.add(
            buffer, path: store.path, logger: store.logger, store.schedule,
            whenFollowing: whenFollowing)
    }

    deinit { end() }

    func end() {
        buffer.end()
        store.feed.remove(buffer, store.schedule)
    }

    /// nil, for good, when the task is cancelled.
    func next() async -> DatabaseChange? {
        guard let change = await buffer.next() else {
            end()
            return nil
        }
        return change
    }
}
