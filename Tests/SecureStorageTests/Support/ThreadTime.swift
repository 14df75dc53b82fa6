import Foundation

/// The processor time of the calling thread, which other threads and processes do not lengthen.
enum ThreadTime {
    static var now: Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
