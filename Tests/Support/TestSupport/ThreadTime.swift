import Foundation

/// The processor time of a thread, which other threads and processes do not affect.
package enum ThreadTime {
    /// The time of the calling thread.
    package static var now: Duration { Clock.current.now }

    /// The clock of one thread, which other threads can read where the system allows it.
    package struct Clock: Sendable {
        private let identifier: clockid_t

        package static let current = Clock(identifier: CLOCK_THREAD_CPUTIME_ID)

        #if os(Linux)
            package static var ofThisThread: Clock {
                var identifier = clockid_t()
                pthread_getcpuclockid(pthread_self(), &identifier)
                return Clock(identifier: identifier)
            }
        #else
            /// The clock of the process, which shows more: no clock of another thread is available.
            package static var ofThisThread: Clock { Clock(identifier: CLOCK_PROCESS_CPUTIME_ID) }
        #endif

        package var now: Duration {
            var time = timespec()
            clock_gettime(identifier, &time)
            return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
        }
    }
}
