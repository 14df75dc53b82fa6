internal import Foundation
internal import SecureStoragePlatform

/// The turn to end a vault's life, or to begin the next one with its id: held by one thread at a
/// time, across all processes.
///
/// The app's handler runs in it. Its calls about the vault on its own thread already have the turn.
enum DestructionTurn {
    /// The thread that has each turn, by the path of the turn's lock.
    private static let owners = Locked([String: pthread_t]())

    /// Returns whether this thread has the turn.
    static func isOurs(_ place: VaultPlace) -> Bool {
        owners.withLock { $0[place.turnLock.path] == pthread_self() }
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
        owners.withLock { $0[place.turnLock.path] = pthread_self() }
        defer { owners.withLock { $0[place.turnLock.path] = nil } }
        return try body()
    }
}
