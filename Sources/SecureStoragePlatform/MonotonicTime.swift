internal import Foundation

/// Nanoseconds by a clock that cannot be set and does not run while the machine sleeps.
///
/// Not `ContinuousClock`, whose 128-bit moments take several times as long to subtract as the
/// system takes to read its clock.
package enum MonotonicTime {
    @inline(__always)
    package static var now: Int64 {
        var time = timespec()
        // Cannot fail for this clock.
        _ = clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
