import Foundation

/// A barrier at which threads wait until all of them have arrived.
package final class Gate: @unchecked Sendable {
    // @unchecked: `waiting` is accessed only under `condition`.
    private let condition = NSCondition()
    private var waiting: Int

    init(_ count: Int) { waiting = count }

    package func wait() {
        condition.lock()
        defer { condition.unlock() }
        waiting -= 1
        if waiting <= 0 { condition.broadcast() }
        while waiting > 0 { condition.wait() }
    }
}

/// Runs `body` in `count` threads, and measures the time from when all of them wait at the gate to
/// the end of the last one.
///
/// A thread that fails ends the program, because the others would wait for it.
package func timedThreads(
    _ count: Int, _ body: @escaping @Sendable (Gate) throws -> UInt64
) -> Outcome {
    let gate = Gate(count + 1)
    let end = Gate(count + 1)
    let sum = Sum()
    for _ in 0..<count {
        let thread = Thread {
            do {
                sum.add(try body(gate))
            } catch {
                Worker.end(error)
            }
            end.wait()
        }
        thread.stackSize = 8 << 20
        thread.start()
    }
    gate.wait()
    let start = ContinuousClock.now
    end.wait()
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    return Outcome(seconds: seconds, checksum: sum.value)
}

private final class Sum: @unchecked Sendable {
    // @unchecked: `total` is accessed only under `lock`.
    private let lock = NSLock()
    private var total: UInt64 = 0

    var value: UInt64 { lock.withLock { total } }
    func add(_ value: UInt64) { lock.withLock { total &+= value } }
}
