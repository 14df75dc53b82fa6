internal import Foundation

/// One vault as an app's screens see it: which screen to show, and what the user can do there.
///
/// It always has a ``state``, and ``states`` to observe. Each user action is a call, which leaves
/// the resulting state; `Docs/DataVault.md` lists them all. A session is independent of any user
/// interface: SwiftUI and a terminal use it in the same way.
///
/// Call ``appDidEnterBackground()`` and ``appWillEnterForeground()`` when the app does so: in the
/// background the vault is locked. In the foreground, call ``poke()`` now and then to show that the
/// vault has locked itself.
///
/// Thread-safe. Calls that derive a key are `async` and work on a separate thread. The others read
/// the vault's record; one that finds a destruction interrupted by a kill completes it, with the
/// app's handler.
public final class DataVaultSession: @unchecked Sendable {
    // @unchecked: `shown` and `observers` are accessed only under `gate`; `isInBackground`,
    // `hasCallFailed` and `judgement` under `turn`.
    /// The id of the vault.
    public let id: String

    let container: DataVaultContainer

    private let gate = NSLock()
    private var shown: State = .noVault
    private var observers: [UUID: AsyncStream<State>.Continuation] = [:]
    /// The vault, whether it exists or not, referenced so that it stays unlocked until it is
    /// locked; an error for an invalid id.
    private let held: Result<DataVault, any Error>

    /// Serialises inspecting the vault and publishing the result.
    ///
    /// Recursive, because inspecting the vault can complete its destruction, whose handler may lock
    /// the session.
    private let turn = NSRecursiveLock()
    private var isInBackground = false
    /// Whether the shown state is the failure of a call, which inspecting the vault does not
    /// reveal.
    private var hasCallFailed = false
    /// The basis on which a password was found to need a change.
    private var judgement: VaultRecord.Judgement?

    /// Creates a session with a vault, which need not exist.
    ///
    /// - Parameters:
    ///   - id: The id of the vault. For an invalid id, ``state`` is `.failed`.
    ///   - container: The container of the vault.
    public init(id: String, in container: DataVaultContainer) {
        self.id = id
        self.container = container
        held = Result { LiveVaults.vault(try container.place(id), in: container) }
        show()
    }

    /// Creates a session with a vault of the current container, as for `DataVault.vault(id:)`.
    ///
    /// - Parameter id: The id of the vault, which need not exist.
    /// - Throws: `DataVaultError` if no container can be created.
    public convenience init(id: String) throws {
        self.init(id: id, in: try CurrentContainer.shared.value)
    }

    deinit { for observer in observers.values { observer.finish() } }

    // MARK: - State

    /// The state to show to the user, as of the last call.
    public var state: State { gate.withLock { shown } }

    /// The states from now on, starting with the current one.
    ///
    /// Each access returns a separate stream. A slow consumer misses states, but never the last
    /// one. A stream ends with the session, which it does not keep alive.
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

    /// Updates the state: the vault may have locked itself, or been destroyed by another process.
    ///
    /// - Returns: The state.
    @discardableResult
    public func poke() -> State { show() }

    /// Restarts the idle time, for a user who reads without typing.
    ///
    /// - Throws: `DataVaultError.locked`, `.doesNotExist`.
    public func touch() throws { try withVault { try $0.resetLockTimeout() } }

    /// Locks the vault, even if a call on another thread is about to unlock it.
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

    /// Updates the state, and allows unlocking again.
    public func appWillEnterForeground() {
        turn.withLock {
            isInBackground = false
            show()
        }
    }

    /// Passes the vault: for its values while it is unlocked, and for its policy at any time.
    ///
    /// Runs on the caller's thread. The state reflects the effects of `body` on the vault: if the
    /// vault has locked itself, the call throws `.locked`, and the state leads the user back to the
    /// password.
    ///
    /// - Parameter body: Receives the vault.
    /// - Returns: The result of `body`.
    /// - Throws: Errors of `body`; `DataVaultError.doesNotExist` without a vault, `.ioReadError`.
    public func withVault<R>(_ body: (DataVault) throws -> R) throws -> R {
        do {
            let vault = try held.get()
            if vault.isLocked { _ = try vault.record }  // throws if none exists
            let result = try body(vault)
            if state != .unlocked || vault.isLocked { show() }
            return result
        } catch {
            show((error as? DataVaultError)?.isSelfDestructed == true ? .destroyed : nil)
            throw error
        }
    }

    // MARK: - What a call leads to

    /// Performs a long operation with the vault and the number of its locks, then shows the
    /// resulting state.
    ///
    /// - Parameters:
    ///   - endsLocked: Whether `.locked` means that the work was done but the vault was locked in
    ///     the meantime: not an error, because the user requested it and the state shows it.
    ///   - work: The long operation.
    ///   - outcome: Returns the state that cannot be observed on the vault, for an error or, on
    ///     success, for nil.
    /// - Returns: The state after the work.
    /// - Throws: Errors of `work`.
    func run(
        endsLocked: Bool, _ work: (DataVault, _ locks: Int) throws -> Void,
        outcome: (DataVaultError?) -> State?
    ) throws -> State {
        let vault = try held.get()
        let locks = turn.withLock { vault.lockCount }
        let result = Result { try work(vault, locks) }
        let state = turn.withLock {
            // An earlier failure is over.
            hasCallFailed = false
            switch result {
            case .success: return show(outcome(nil))
            case .failure(let error):
                // If the vault was locked in the meantime, only that is shown, whatever else
                // failed.
                let isObsolete = vault.lockCount != locks
                return show(isObsolete ? nil : (error as? DataVaultError).flatMap(outcome))
            }
        }
        do { try result.get() } catch DataVaultError.locked where endsLocked {}
        return state
    }

    /// Shows the observed state of the vault, combined with state that cannot be observed.
    @discardableResult
    private func show(_ outcome: State? = nil, isLock: Bool = false) -> State {
        turn.withLock {
            var (next, record) = look()
            // A state that only a call can determine is shown until it is outdated.
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

    /// Observes the vault.
    private func look() -> (state: State, VaultRecord?) {
        if isInBackground { try? held.get().lock() }
        do {
            let vault = try held.get()
            let record = try vault.record
            if isInBackground { vault.lock() }
            return (vault.isLocked ? .locked(triesLeft: record.triesLeft) : .unlocked, record)
        } catch DataVaultError.doesNotExist(let isSelfDestructed, _) {
            // Closes a destroyed vault, but not one that a call has just created.
            _ = try? held.get().isLocked
            return (isSelfDestructed ? .destroyed : .noVault, nil)
        } catch {
            // A key store that has since been locked does not affect a vault that is already
            // unlocked.
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
