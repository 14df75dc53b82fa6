#if PostgreSQL
    internal import Foundation
    internal import SecureStoragePlatform

    /// A signal that ends a `poll(2)` of another thread: a pipe that becomes readable, and remains
    /// so.
    final class Wake: Sendable {
        private let reader: Descriptor
        private let writer: Descriptor
        private let flag = SharedFlag()

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else {
                throw Failures.system("make a pipe", errno)
            }
            reader = Descriptor(owning: ends[0])
            writer = Descriptor(owning: ends[1])
            for end in ends {
                guard fcntl(end, F_SETFD, FD_CLOEXEC) == 0, fcntl(end, F_SETFL, O_NONBLOCK) == 0
                else { throw Failures.system("set up a pipe", errno) }
            }
        }

        var isOn: Bool { flag.isOn }

        /// What `poll(2)` finds readable.
        var descriptor: Int32 { reader.number }

        /// Ends the waiting of any thread, now and later.
        func set() {
            flag.set(true)
            var byte: UInt8 = 1
            // A full pipe is readable as well.
            _ = write(writer.number, &byte, 1)
        }

        /// Waits until the signal is on, at most for a duration; blocks the thread.
        func wait(atMost limit: Duration) {
            var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            _ = poll(&polled, 1, limit.wholeMilliseconds)
        }
    }

    extension Duration {
        /// Milliseconds for `poll(2)`, at least 1, so that a short rest does not become a busy
        /// loop.
        var wholeMilliseconds: Int32 {
            let milliseconds =
                components.seconds.multipliedReportingOverflow(by: 1000).overflow
                ? Int64(Int32.max)
                : components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
            return max(1, Int32(clamping: milliseconds))
        }
    }
#endif
