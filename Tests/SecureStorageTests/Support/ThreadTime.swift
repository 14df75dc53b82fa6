import Foundation

/// The processor time of a thread, which other threads and processes do not affect.
enum ThreadTime {
    /// The time of the calling thread.
    static var now: Duration { Clock.current.now }

    /// The clock of one thread, which other threads can read where the system allows it.
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
            /// The clock of the process, which shows more: no clock of another thread is available.
            static var ofThisThread: Clock { Clock(identifier: CLOCK_PROCESS_CPUTIME_ID) }
        #endif

        var now: Duration {
            var time = timespec()
            clock_gettime(identifier, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }
}
