internal import Foundation

/// Runs blocks one at a time, in the order of their arrival, and lets a block run further ones inside
/// itself.
///
/// A serial `DispatchQueue` keeps the order; asking it for a second turn from inside the first would
/// wait for ever. So each thread remembers the turns that it holds: a queue-specific value would not
/// do, since a block of another queue, run from inside, hides it.
final class SerialTurn: Sendable {
    private let queue: DispatchQueue

    init(label: String) {
        queue = DispatchQueue(label: label)
    }

    /// Runs `block` on the calling thread: at once when it holds the turn already, else in its turn.
    func run<T>(_ block: () throws -> sending T) throws -> sending T {
        let held = HeldTurns.current
        if held.contains(self) { return try block() }
        // Unsafe for the compiler only: `sync` has ended, on this thread, before it is read.
        nonisolated(unsafe) var outcome: Result<T, any Error>?
        queue.sync {
            held.begin(self)
            defer { held.end() }
            outcome = Result { try block() }
        }
        guard let outcome else { preconditionFailure("DispatchQueue.sync did not run its block") }
        nonisolated(unsafe) let value = try outcome.get()
        return value
    }
}

/// The turns that one thread holds, innermost last.
private final class HeldTurns {
    private var turns: [Unmanaged<SerialTurn>] = []

    func contains(_ turn: SerialTurn) -> Bool {
        turns.contains { $0.toOpaque() == Unmanaged.passUnretained(turn).toOpaque() }
    }

    func begin(_ turn: SerialTurn) { turns.append(.passUnretained(turn)) }

    func end() { turns.removeLast() }

    /// The calling thread's; made at its first call, freed with the thread.
    static var current: HeldTurns {
        if let known = pthread_getspecific(key) {
            return Unmanaged<HeldTurns>.fromOpaque(known).takeUnretainedValue()
        }
        let made = HeldTurns()
        pthread_setspecific(key, Unmanaged.passRetained(made).toOpaque())
        return made
    }

    private static let key: pthread_key_t = {
        var key = pthread_key_t()
        pthread_key_create(&key) { held in
            #if canImport(Darwin)
                Unmanaged<HeldTurns>.fromOpaque(held).release()
            #else
                if let held { Unmanaged<HeldTurns>.fromOpaque(held).release() }
            #endif
        }
        return key
    }()
}
