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
    let end = DispatchSemaphore(value: 0)
    Task.detached {
        do {
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
        } catch {
            Worker.end(error)
        }
        end.signal()
    }
    end.wait()
    return 0
}
