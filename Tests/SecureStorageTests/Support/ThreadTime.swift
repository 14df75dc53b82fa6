import Foundation

/// The processor time of a thread, which other threads and processes do not lengthen.
enum ThreadTime {
    /// Of the calling thread.
    static var now: Duration { Clock.current.now }

    /// The clock of one thread, which others may read as well where the system allows it.
    struct Clock: Sendable {
        private let identifier: clockid_t

        static let current = Clock(identifier: CLOCK_THREAD_CPUTIME_ID)

        #if os(Linux)
            static var ofThisThread: Clock {
                var identifier = clockid_t()
                pthread_getcpuclockid(pthread_self(), &identifier)
                return Clock(identifier: identifier)
            }
        #else
            /// There is no clock of another thread: that of the process, which shows more.
            static var ofThisThread: Clock { Clock(identifier: CLOCK_PROCESS_CPUTIME_ID) }
        #endif

        var now: Duration {
            var time = timespec()
            clock_gettime(identifier, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }
}
