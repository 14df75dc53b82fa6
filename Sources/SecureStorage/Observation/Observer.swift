internal import Foundation
internal import Logging

/// The store of a queue or a pool that is observed, and the means to get a turn on it.
struct ObservedStore: Sendable {
    let feed: ChangeFeed
    let path: String
    let logger: @Sendable (String) -> Void
    let schedule: ChangeFeed.Scheduler
    /// Keeps the queue or the pool alive.
    let owner: any Sendable & AnyObject
}

/// An observer, which observes until its last reference is released.
final class Observer: Sendable {
    let buffer: ChangeBuffer
    private let store: ObservedStore

    /// `whenFollowing` is called as soon as every later commit is seen.
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

    /// Waits for the next change; nil when the task is cancelled, and from then on.
    func next() async -> DatabaseChange? {
        guard let change = await buffer.next() else {
            end()
            return nil
        }
        return change
    }
}
