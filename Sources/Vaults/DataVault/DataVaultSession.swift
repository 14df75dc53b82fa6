internal import Foundation

/// One vault as an app's screens see it: which of them to show, and what the user can do there.
///
/// It has a ``state`` at any time, and ``states`` to be observed. What the user does is a call, and
/// every call leaves the state that follows from it; `Docs/DataVault.md` has them all. It knows of
/// no user interface: SwiftUI and a terminal use it in the same way.
///
/// Call ``appDidEnterBackground()`` and ``appWillEnterForeground()`` when the app does so: in the
/// background the vault is locked. While it is in front, ``poke()`` now and then shows that the
/// vault has locked itself.
///
/// Thread-safe. Calls that derive a key are `async`, and work on a thread of their own. The others
/// read the vault's record; one that finds a destruction that a kill has left ends it, with the
/// app's handler.
public final class DataVaultSession: @unchecked Sendable {
    // @unchecked: `shown` and `observers` are only touched under `gate`; `isInBackground`,
    // `hasCallFailed` and `judgement` under `turn`.
    /// The id of the vault.
    public let id: String

    let container: DataVaultContainer

    private let gate = NSLock()
    private var shown: State = .noVault
    private var observers: [UUID: AsyncStream<State>.Continuation] = [:]
    /// The vault, whether it exists or not, so that it stays unlocked until it is locked; an error
    /// for an id that none can have.
    private let held: Result<DataVault, any Error>

    /// Whoever looks at the vault tells what was seen before somebody else looks.
    ///
    /// Recursive, since looking can end the destruction of the vault, whose handler may lock the
    /// session.
    private let turn = NSRecursiveLock()
    private var isInBackground = false
    /// Whether what is shown is the failure of a call, of which looking at the vault tells nothing.
    private var hasCallFailed = false
    /// What a password that is to be changed was found so by.
    private var judgement: VaultRecord.Judgement?

    /// A session with a vault, which need not exist.
    ///
    /// - Parameters:
    ///   - id: The id of the vault. One that no vault can have is found by ``state``, which is
    ///     `.failed` then.
    ///   - container: Where the vault lies.
    public init(id: String, in container: DataVaultContainer) {
        self.id = id
        self.container = container
        held = Result { LiveVaults.vault(try container.place(id), in: container) }
        show()
    }

    /// A session with a vault of the current container, as for `DataVault.vault(id:)`.
    ///
    /// - Parameter id: The id of the vault, which need not exist.
    /// - Throws: `DataVaultError` when there can be no container.
    public convenience init(id: String) throws {
        self.init(id: id, in: try CurrentContainer.shared.value)
    }

    deinit { for observer in observers.values { observer.finish() } }

    // MARK: - State

    /// What the user is to be shown, as of the last call.
    public var state: State { gate.withLock { shown } }

    /// The states from now on, the present one first.
    ///
    /// Each call gives a stream of its own. Who is slow misses states, never the last one. A stream
    /// ends with the session, which it does not keep alive.
    public var states: AsyncStream<State> {
        AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let name = UUID()
            continuation.onTermination = { [weak self] _ in
                self?.gate.withLock { _ = self?.observers.removeValue(forKey: name) }
            }
            gate.withLock {
                observers[name] = continuation
                continuation.yield(shown)
            }
        }
    }

    // MARK: - Events

    /// Looks at the vault again: it may have locked itself, or may have been destroyed by another
    /// process.
    ///
    /// - Returns: The state.
    @discardableResult
    public func poke() -> State { show() }

    /// Begins the time of inactivity anew, for a user who reads and types nothing.
    ///
    /// - Throws: `DataVaultError.locked`, `.doesNotExist`.
    public func touch() throws { try withVault { try $0.resetLockTimeout() } }

    /// Locks the vault, also one that a call on another thread is about to unlock.
    public func lock() {
        turn.withLock {
            try? held.get().lock()
            show(isLock: true)
        }
    }

    /// Locks the vault; until ``appWillEnterForeground()`` no call leaves it unlocked.
    public func appDidEnterBackground() {
        turn.withLock {
            isInBackground = true
            lock()
        }
    }

    /// Looks at the vault, and lets it be unlocked again.
    public func appWillEnterForeground() {
        turn.withLock {
            isInBackground = false
            show()
        }
    }

    /// Lends the vault: for its values while it is unlocked, and for its policy at any time.
    ///
    /// On the caller's thread. What `body` does to the vault shows in the state: when the vault has
    /// locked itself, the call throws `.locked`, and the state leads the user back to the password.
    ///
    /// - Parameter body: Gets the vault.
    /// - Returns: What `body` returns.
    /// - Throws: What `body` throws; `DataVaultError.doesNotExist` without a vault, `.ioReadError`.
    public func withVault<R>(_ body: (DataVault) throws -> R) throws -> R {
        do {
            let vault = try held.get()
            if vault.isLocked { _ = try vault.record }  // which says so where there is none
            let result = try body(vault)
            if state != .unlocked || vault.isLocked { show() }
            return result
        } catch {
            show((error as? DataVaultError)?.isSelfDestructed == true ? .destroyed : nil)
            throw error
        }
    }

    // MARK: - What a call leads to

    /// Does what takes long, with the vault and the number of its locks, then shows what it has led
    /// to.
    ///
    /// - Parameters:
    ///   - endsLocked: Whether `.locked` says that the work is done, and that the vault was locked
    ///     meanwhile: no error then, the user wanted it so, and the state tells.
    ///   - work: Takes long.
    ///   - outcome: Tells what cannot be seen of the vault, as of an error or, without one, of nil.
    /// - Returns: The state after the work.
    /// - Throws: What `work` throws.
    func run(
        endsLocked: Bool, _ work: (DataVault, _ locks: Int) throws -> Void,
        outcome: (DataVaultError?) -> State?
    ) throws -> State {
        let vault = try held.get()
        let locks = turn.withLock { vault.lockCount }
        let result = Result { try work(vault, locks) }
        let state = turn.withLock {
            // A failure of before is over.
            hasCallFailed = false
            switch result {
            case .success: return show(outcome(nil))
            case .failure(let error):
                // Who has locked the vault meanwhile has been shown that, whatever else was wrong.
                let isObsolete = vault.lockCount != locks
                return show(isObsolete ? nil : (error as? DataVaultError).flatMap(outcome))
            }
        }
        do { try result.get() } catch DataVaultError.locked where endsLocked {}
        return state
    }

    /// Shows what is seen of the vault, together with what cannot be seen.
    @discardableResult
    private func show(_ outcome: State? = nil, isLock: Bool = false) -> State {
        turn.withLock {
            var (next, record) = look()
            // What only a call could tell is shown until something else is known.
            if outcome != nil { judgement = record?.judgement }
            let isJudged = !isLock && judgement != nil && judgement == record?.judgement
            let isFailure = outcome != nil || hasCallFailed && !isLock
            hasCallFailed = false
            switch (next, outcome ?? state) {
            case (.noVault, .destroyed): next = .destroyed
            case (.locked(let tries), .passwordViolates(let rule, _)) where isJudged:
                next = .passwordViolates(rule, triesLeft: tries)
            case (.locked(let tries), .passwordExpired) where isJudged:
                next = .passwordExpired(triesLeft: tries)
            case (.locked, .failed(let error)) where isFailure:
                next = .failed(error)
                hasCallFailed = true
            default: break
            }
            gate.withLock {
                guard shown != next else { return }
                shown = next
                for observer in observers.values { observer.yield(next) }
            }
            return next
        }
    }

    /// What can be seen of the vault.
    private func look() -> (state: State, VaultRecord?) {
        if isInBackground { try? held.get().lock() }
        do {
            let vault = try held.get()
            let record = try vault.record
            if isInBackground { vault.lock() }
            return (vault.isLocked ? .locked(triesLeft: record.triesLeft) : .unlocked, record)
        } catch DataVaultError.doesNotExist(let isSelfDestructed, _) {
            // Closes what is gone, and not what a call has just made.
            _ = try? held.get().isLocked
            return (isSelfDestructed ? .destroyed : .noVault, nil)
        } catch {
            // A key store that is locked by now takes nothing from who has unlocked the vault
            // before.
            if let vault = try? held.get(), !vault.isLocked { return (.unlocked, nil) }
            return (.failed(error as? DataVaultError ?? .unknown(cause: error)), nil)
        }
    }
}

extension DataVaultSession: CustomStringConvertible, CustomReflectable {
    /// The id.
    public var description: String { "DataVaultSession(\(KeyStoreError.quoted(id)))" }

    /// A mirror without children.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
