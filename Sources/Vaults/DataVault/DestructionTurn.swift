internal import Foundation

/// The turn to end a vault's life, or to begin the next one of its id: one thread's at a time, of
/// all processes.
///
/// The app's handler runs in it. What it calls on its own thread about the vault is in the turn
/// already.
enum DestructionTurn {
    private final class Owners: @unchecked Sendable {
        // @unchecked: `threads` is only touched under `lock`.
        let lock = NSLock()
        var threads: [String: pthread_t] = [:]
    }

    private static let owners = Owners()

    /// Whether this thread has the turn.
    static func isOurs(_ place: VaultPlace) -> Bool {
        owners.lock.withLock { owners.threads[place.turnLock.path] == pthread_self() }
    }

    /// Waits for the turn; not when this thread has it.
    static func taken<R>(_ place: VaultPlace, _ body: () throws -> R) throws -> R {
        guard !isOurs(place) else { return try body() }
        return try place.turnLock.held { try owned(place, body) }
    }

    /// Gives nil, without a call of `body`, when somebody has the turn.
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
