import Logging
import SecureStorage
import SecureSync
import ServiceLifecycle

/// Runs the mirror, and stores what is left at the end.
///
/// It is the first service of its group, and the group ends services in the opposite order: when it
/// is told to end, the last request has been answered.
struct MirrorService: Service {
    let mirror: DatabaseMirror
    let flushes: SharedFlush
    let logger: Logger

    func run() async throws {
        do {
            try await cancelWhenGracefulShutdown { try await follow() }
        } catch is CancellationError {
            try await finish()
        }
    }

    private func follow() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await mirror.run() }
            group.addTask { try await beat() }
            defer { group.cancelAll() }
            // The one that ends first fails: neither ends otherwise.
            try await group.next()
        }
    }

    /// Flushes every second.
    ///
    /// `status.completeAt` is then the age of the mirror, also while nothing is committed. A flush
    /// that finds nothing new does not reach the store.
    private func beat() async throws {
        var failed = false
        while true {
            do {
                try await flushes.flush()
                if failed { logger.notice("the mirror is complete again") }
                failed = false
            } catch let error as SyncError where error.mayPass {
                if !failed { logger.warning("the mirror cannot be written: \(error)") }
                failed = true
            }
            try await Task.sleep(for: .seconds(1))
        }
    }

    /// Acknowledged notes are in the mirror already; this is for those that nobody waited for.
    private func finish() async throws {
        for _ in 1..<4 {
            do {
                return try await flushes.flush()
            } catch let error as SyncError where error.mayPass {
                logger.warning("the mirror cannot be written before the end: \(error)")
            }
            // The task is cancelled if the end takes too long.
            try await Task.sleep(for: .seconds(1))
        }
        try await flushes.flush()
    }
}

extension SyncError {
    /// Whether the same call may succeed later.
    var mayPass: Bool {
        if case .store(_, _, let isTransient) = self { isTransient } else { false }
    }
}
