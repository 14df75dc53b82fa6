/// The pauses between the tries of a call that fails for now.
///
/// Each is twice as long as the one before, up to a limit, and by chance up to half shorter, so
/// that the clients of a server that returns do not come all at once.
package struct Backoff {
    private let patience: Duration
    private let longest: Duration
    private var pause: Duration
    private var end: ContinuousClock.Instant?

    /// - Parameters:
    ///   - patience: How long a call is tried again, from its first failure on.
    ///   - first: The first pause.
    ///   - longest: The limit of the pauses.
    package init(patience: Duration, first: Duration, longest: Duration) {
        self.patience = patience
        self.longest = longest
        pause = min(first, longest)
    }

    /// The time that is left; all of it before the first failure.
    package var rest: Duration { end.map { $0 - .now } ?? patience }

    /// Returns the pause after a failure; nil if the patience would be over after it.
    package mutating func next() -> Duration? {
        end = end ?? .now + patience
        let next = pause * Double.random(in: 0.5...1)
        pause = min(pause * 2, longest)
        return next < rest ? next : nil
    }
}
