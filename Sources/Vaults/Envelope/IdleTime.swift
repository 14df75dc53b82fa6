/// The time since something was last used; none passes while it is in use.
///
/// Its caller passes the current time, so that no clock of an app is called under a lock.
struct IdleTime {
    /// How long it may be unused before it counts as idle; nil for ever.
    private(set) var limit: Duration?
    private var lastUse: Duration
    private var users = 0

    init(limit: Duration?, now: Duration) {
        self.limit = limit
        lastUse = now
    }

    mutating func beginUse() { users += 1 }

    mutating func endUse(at now: Duration) {
        users -= 1
        lastUse = now
    }

    /// Begins again, as after a use.
    mutating func restart(at now: Duration) { lastUse = now }

    mutating func restart(at now: Duration, limit: Duration?) {
        self.limit = limit
        lastUse = now
    }

    /// Whether it is unused and the limit is reached.
    func isOver(at now: Duration) -> Bool {
        users == 0 && left(at: now).map { $0 <= .zero } ?? false
    }

    /// How long the limit is away if no use begins; nil if there is none.
    func left(at now: Duration) -> Duration? {
        limit.map { users > 0 ? $0 : $0 - (now - lastUse) }
    }
}
