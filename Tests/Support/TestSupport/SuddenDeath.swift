internal import Foundation

/// Ends this process, an exit test's, as a crash or a power cut would.
package enum SuddenDeath {
    /// Sends SIGKILL from another thread after `microseconds`.
    package static func after(microseconds: Int) {
        Thread.detachNewThread {
            usleep(UInt32(microseconds))
            kill(getpid(), SIGKILL)
        }
    }

    /// Random times around the end of the work to be killed, however long it takes on this machine.
    ///
    /// A kill that came too late makes the next ones earlier.
    package struct Moment {
        private var latest = 100_000
        private var last = 0

        package init() {}

        package mutating func next() -> Int {
            last = Int.random(in: 0...latest)
            return last
        }

        package mutating func note(wasTooLate: Bool) {
            latest = wasTooLate ? (latest + last) / 2 : max(latest, last * 2)
        }
    }

    #if os(Linux)
        /// Makes the kernel send SIGXFSZ at the first write that would extend a file beyond
        /// `bytes`.
        package static func whenAFileGrows(beyond bytes: Int) {
            var limits = rlimit(rlim_cur: UInt(bytes), rlim_max: UInt(bytes))
            setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limits)
            // libdispatch's worker threads block the signal.
            var signals = sigset_t()
            sigemptyset(&signals)
            sigaddset(&signals, SIGXFSZ)
            pthread_sigmask(SIG_UNBLOCK, &signals, nil)
        }
    #endif

    package static func now() -> Never {
        kill(getpid(), SIGKILL)
        while true { pause() }
    }

    /// Prints what a campaign of kills hit, to show that the kills fell where they should.
    package static func report(_ line: String) {
        if ProcessInfo.processInfo.environment["SECURESTORAGE_KILLS"] != nil { print(line) }
    }

    /// Returns how often a test kills a process: a few times, or as often as
    /// `make campaign NAME=crash` specifies.
    package static func count(_ usual: Int) -> Int {
        environmentNumber("SECURESTORAGE_KILLS", default: usual)
    }

    /// Whether a campaign runs, which leaves out nothing.
    package static var isCampaign: Bool { count(0) > 0 }

    /// Returns how many calls lie between those at which a test lets a device die: a campaign's
    /// dies at each.
    package static func step(_ usual: Int) -> Int { isCampaign ? 1 : usual }
}

/// Returns a number from the environment, for longer runs than usual.
package func environmentNumber(_ name: String, default usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
}
