internal import Foundation

/// The turn to end a vault's life, or to begin the next one with its id: held by one thread at a
/// time, across all processes.
///
/// The app's handler runs in it. Its calls about the vault on its own thread already have the turn.
enum DestructionTurn {
    private final class Owners: @unchecked Sendable {
        // @unchecked: `threads` is accessed only under `lock`.
        let lock = NSLock()
        var threads: [String: pthread_t] = [:]
    }

    private static let owners = Owners()

    /// Returns whether this thread has the turn.
    static func isOurs(_ place: VaultPlace) -> Bool {
        owners.lock.withLock { owners.threads[place.turnLock.path] == pthread_self() }
    }

    /// Waits for the turn, unless this thread already has it.
    static func taken<R>(_ place: VaultPlace, _ body: () throws -> R) throws -> R {
        guard !isOurs(place) else { return try body() }
        return try place.turnLock.held { try owned(place, body) }
    }

    /// Returns nil, without calling `body`, if the turn is taken.
    static func takenIfFree<R>(_ place: VaultPlace, _ body: () throws -> R) throws -> R? {
        guard !isOurs(place) else { return nil }
        return try place.turnLock.held(patience: .zero) { try owned(place, body) }
    }

    private static func owned<R>(_ place: VaultPlace, _ body: () throws -> R) throws -> R {
        owners.lock.withLock { owners.threads[place.turnLock.path] = pthread_self() }
        defer { owners.lock.withLock { owners.threads[place.turnLock.path] = nil } }
        return try body()
    }
}
