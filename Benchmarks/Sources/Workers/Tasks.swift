import Foundation

/// Runs `body` in `count` tasks, which share the job's writes, and returns when all have ended.
///
/// - Parameters:
///   - count: The number of tasks.
///   - job: The job.
///   - body: Writes the row with the given number.
/// - Returns: 0; what was written is checked afterwards. An error ends the program.
package func inTasks(
    _ count: Int, of job: Job, _ body: @escaping @Sendable (Int) async throws -> Void
) -> UInt64 {
    let writes = job.writes
    return inTask {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<count {
                group.addTask {
                    for number in stride(from: task, to: writes, by: count) {
                        try await body(number)
                    }
                }
            }
            try await group.waitForAll()
        }
        return 0
    }
}

/// Runs `body` in a task, and waits for it.
///
/// - Returns: Its result. An error ends the program.
package func inTask(_ body: @escaping @Sendable () async throws -> UInt64) -> UInt64 {
    let end = DispatchSemaphore(value: 0)
    nonisolated(unsafe) var result: UInt64 = 0
    Task.detached {
        do {
            result = try await body()
        } catch {
            Worker.end(error)
        }
        end.signal()
    }
    end.wait()
    return result
}
