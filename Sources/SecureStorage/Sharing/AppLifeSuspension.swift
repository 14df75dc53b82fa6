#if os(iOS) || os(tvOS) || os(visionOS)
    internal import Foundation
    internal import UIKit

    /// Suspends databases before the system suspends the app, and resumes them when it comes to the
    /// foreground.
    ///
    /// Make one in each app, not in its extensions, and keep it as long as the databases: a file of
    /// a shared container whose lock is held by a suspended app ends that app (`0xDEAD10CC`). In
    /// every background mode that uses the databases (a fetch, a push, a processing task), call
    /// ``resume()`` first; it suspends again when the system's time for that is over.
    ///
    /// Thread-safe.
    public final class AppLifeSuspension: @unchecked Sendable {
        // @unchecked: `observers` is written by the initializer alone, `activity` under `lock`.
        private let databases: [any SuspendableDatabase]
        private var observers: [any NSObjectProtocol] = []
        private let lock = NSLock()
        /// Ends the activity that keeps the app running in the background; nil when there is none.
        private var activity: DispatchSemaphore?

        /// Begins to follow the app's life.
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

        /// Lets the databases take calls in the background, until the system's time for that is
        /// over.
        public func resume() {
            // One whose time is over just now would suspend them again.
            endActivity()
            for database in databases { database.resume() }
            beginActivity()
        }

        /// Asks the system for time, and suspends the databases when it has no more.
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
                    // The activity lasts as long as this call, on a thread of the system's.
                    end.wait()
                    return
                }
                self?.suspend(atEndOf: end)
            }
        }

        private func suspend(atEndOf end: DispatchSemaphore) {
            for database in databases where isCurrent(end) {
                database.suspend(waiting: .milliseconds(200))
                // The app has come back in the meantime; its own `resume` may have come first.
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
