#if PostgreSQL
    /// The pauses between repetitions: twice as long each time, by chance up to half shorter, so
    /// that the clients of a server that returns do not come all at once.
    struct Backoff {
        let end: ContinuousClock.Instant
        private var pause = Duration.milliseconds(50)
        private let longest: Duration

        init(patience: Duration, longest: Duration = .seconds(5)) {
            end = .now + patience
            self.longest = longest
        }

        /// The time that is left.
        var rest: Duration { end - .now }

        /// Returns the next pause; nil if the time would be over after it.
        mutating func next() -> Duration? {
            let next = pause * Double.random(in: 0.5...1)
            pause = min(pause * 2, longest)
            return next < rest ? next : nil
        }
    }
#endif
