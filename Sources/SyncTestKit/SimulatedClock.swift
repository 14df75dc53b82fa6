internal import Foundation
internal import SecureStoragePlatform

/// The time of a simulation, which stands still except when it is moved.
///
/// Triggers note the machine's time, since they are plain SQL. So a simulation remembers at which
/// time of the machine it was moved, and tells from a note which time it was in the simulation.
final class SimulatedClock: Sendable {
    private let steps: Locked<Steps>

    /// - Parameter start: Milliseconds since 1970.
    init(start: Int64) { steps = Locked(Steps(start)) }

    /// Milliseconds since 1970.
    var now: Int64 { steps.withLock { $0.last } }

    /// The simulation's time at a time of the machine's clock.
    func time(at machine: Int64) -> Int64 { steps.withLock { $0.value(at: machine) } }

    /// Moves the clock; what was written until now keeps its time.
    func advance(by milliseconds: Int64) {
        Self.change(steps) { $0 = $0.addingSaturated(milliseconds) }
    }

    /// Each commit takes a millisecond, so that of two the later one is later.
    func tick() { advance(by: 1) }

    fileprivate static func change(_ steps: Locked<Steps>, _ body: (inout Int64) -> Void) {
        let from = steps.withLock { steps in
            var value = steps.last
            body(&value)
            return steps.append(value, after: machine)
        }
        // SQLite's time is a floating-point number of days: it may be a millisecond behind. Not for
        // ever, if somebody sets the machine's clock back.
        for _ in 0..<500 where machine <= from { usleep(100) }
    }

    /// The machine's time in milliseconds since 1970.
    private static var machine: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }
}

/// How far the clock of one device is off.
final class ClockError: Sendable {
    private let steps: Locked<Steps>

    /// - Parameter milliseconds: Positive for a clock that is ahead.
    init(_ milliseconds: Int64) { steps = Locked(Steps(milliseconds)) }

    var now: Int64 { steps.withLock { $0.last } }

    func error(at machine: Int64) -> Int64 { steps.withLock { $0.value(at: machine) } }

    /// Sets the clock; what was written until now keeps its time.
    func set(_ milliseconds: Int64) { SimulatedClock.change(steps) { $0 = milliseconds } }
}

/// A number that has changed at times of the machine's clock.
private struct Steps {
    private var steps: [(from: Int64, value: Int64)]

    init(_ value: Int64) { steps = [(.min, value)] }

    var last: Int64 { steps[steps.count - 1].value }

    func value(at time: Int64) -> Int64 {
        var (low, high) = (0, steps.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if steps[middle].from <= time { low = middle } else { high = middle }
        }
        return steps[low].value
    }

    /// Returns the time from which on the new value counts.
    mutating func append(_ value: Int64, after time: Int64) -> Int64 {
        let from = max(time, steps[steps.count - 1].from) + 1
        steps.append((from, value))
        return from
    }
}

extension Duration {
    /// In whole milliseconds; beyond `Int64`, the nearest one.
    var milliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, isOver) = seconds.multipliedReportingOverflow(by: 1000)
        guard !isOver else { return seconds < 0 ? .min : .max }
        let (sum, isOverToo) = product.addingReportingOverflow(
            attoseconds / 1_000_000_000_000_000)
        return isOverToo ? (seconds < 0 ? .min : .max) : sum
    }
}

extension Int64 {
    /// The sum, or the nearest number that there is.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, isOver) = addingReportingOverflow(other)
        return isOver ? (other < 0 ? .min : .max) : sum
    }
}
