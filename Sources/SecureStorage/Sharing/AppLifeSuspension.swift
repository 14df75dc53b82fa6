#if os(iOS) || os(tvOS) || os(visionOS)
    internal import Foundation
    internal import UIKit

    /// Suspends databases before the system suspends the app, and resumes them when the app enters
    /// the foreground.
    ///
    /// Create one in each app, not in its extensions, and keep it as long as the databases: the
    /// system ends a suspended app that holds a lock on a file in a shared container
    /// (`0xDEAD10CC`). In every background mode that uses the databases (a fetch, a push, a
    /// processing task), call ``resume()`` first; it suspends again when the system's time for that
    /// expires.
    ///
    /// Thread-safe.
    public final class AppLifeSuspension: @unchecked Sendable {
        // @unchecked: `observers` is written only by the initializer, `activity` under `lock`.
        private let databases: [any SuspendableDatabase]
        private var observers: [any NSObjectProtocol] = []
        private let lock = NSLock()
        /// Ends the activity that keeps the app running in the background; nil if there is none.
        private var activity: DispatchSemaphore?

        /// Starts observing the app's life cycle.
        ///
        /// - Parameter databases: Queues and pools on shared files.
        public init(_ databases: [any SuspendableDatabase]) {
            self.databases = databases
            let center = NotificationCenter.default
            observers = [
                center.addObserver(
                    forName: UIApplication.didEnterBackgroundNotification, object: nil, queue: nil
                ) { [weak self] _ in self?.beginActivity() },
                center.addObserver(
                    forName: UIApplication.willEnterForegroundNotification, object: nil, queue: nil
                ) { [weak self] _ in
                    self?.endActivity()
                    self?.databases.forEach { $0.resume() }
                },
            ]
        }

        deinit {
            for observer in observers { NotificationCenter.default.removeObserver(observer) }
            endActivity()
        }

        /// Lets the databases accept calls in the background, until the system's time for that
        /// expires.
        public func resume() {
            // An activity that expires now would suspend them again.
            endActivity()
            for database in databases { database.resume() }
            beginActivity()
        }

        /// Requests time from the system, and suspends the databases when it expires.
        private func beginActivity() {
            let end = DispatchSemaphore(value: 0)
            let begins = lock.withLock {
                guard activity == nil else { return false }
                activity = end
                return true
            }
            guard begins else { return }
            ProcessInfo.processInfo.performExpiringActivity(
                withReason: "SecureStorage keeps no lock while the app is suspended"
            ) { [weak self] isExpired in
                guard isExpired else {
                    // The activity lasts as long as this call, on a thread of the system.
                    end.wait()
                    return
                }
                self?.suspend(atEndOf: end)
            }
        }

        private func suspend(atEndOf end: DispatchSemaphore) {
            for database in databases where isCurrent(end) {
                database.suspend(waiting: .milliseconds(200))
                // The app has become active in the meantime; its own `resume` may have come first.
                if !isCurrent(end) { database.resume() }
            }
            if isCurrent(end) { endActivity() }
        }

        private func isCurrent(_ end: DispatchSemaphore) -> Bool {
            lock.withLock { activity === end }
        }

        private func endActivity() {
            lock.withLock {
                activity?.signal()
                activity = nil
            }
        }
    }
#endif
