import Foundation

/// Ends a loop on another thread.
final class Rounds: @unchecked Sendable {
    // @unchecked: accessed only under `lock`.
    private let lock = NSLock()
    private var wasEnded = false

    var isOver: Bool { lock.withLock { wasEnded } }
    func end() { lock.withLock { wasEnded = true } }
}
