internal import Dispatch

/// Wakes its owner when a secret may have expired; the owner's clock decides whether it has.
///
/// It consists of two timers because neither kind is enough alone: one stops while the machine
/// sleeps, the other follows the date.
package struct ExpiryTimer {
    private var timers: [any DispatchSourceTimer] = []

    package init() {}

    /// Replaces the timers by ones that call `handler` once after `time`, on a thread of the
    /// system.
    package mutating func start(after time: Duration, _ handler: @escaping @Sendable () -> Void) {
        cancel()
        // A year is as good as never and cannot overflow.
        let seconds = min(max(time, .milliseconds(10)), .seconds(31_536_000)) / .seconds(1)
        timers = [false, true].map { followsDate in
            let timer = DispatchSource.makeTimerSource(queue: .global(qos: .utility))
            if followsDate {
                timer.schedule(wallDeadline: .now() + seconds, leeway: .milliseconds(100))
            } else {
                timer.schedule(deadline: .now() + seconds, leeway: .milliseconds(100))
            }
            timer.setEventHandler(handler: handler)
            timer.resume()
            return timer
        }
    }

    package mutating func cancel() {
        for timer in timers { timer.cancel() }
        timers = []
    }
}
