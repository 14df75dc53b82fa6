import Logging
import SecureMirror
import SecureStorage
import ServiceLifecycle

/// Runs the mirror, and stores what is left at the end.
///
/// It is the first service of its group, and the group ends services in the opposite order: when it
/// is told to end, the last request has been answered.
struct MirrorService: Service {
    let mirror: DatabaseMirror
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
            group.addTask { await report() }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Logs the first of several failures, and the end of them.
    private func report() async {
        var failed = false
        for await status in mirror.statuses {
            if let failure = status.failure, !failed {
                logger.warning("the mirror cannot be written: \(failure)")
            } else if status.failure == nil, failed {
                logger.notice("the mirror is complete again")
            }
            failed = status.failure != nil
        }
    }

    /// Acknowledged notes are in the mirror already; this is for those that nobody waited for.
    private func finish() async throws {
        for _ in 1..<4 {
            do {
                return try await mirror.flush()
            } catch let error as MirrorError where error.isTransient {
                logger.warning("the mirror cannot be written before the end: \(error)")
            }
            // The task is cancelled if the end takes too long.
            try await Task.sleep(for: .seconds(1))
        }
        try await mirror.flush()
    }
}
