/// How far a suspension has come.
///
/// A value without a lock, so that a test can try every order of its changes; see `PoolState`.
struct SuspensionState: Hashable {
    enum Stage: Hashable {
        /// The file is used.
        case none
        /// What runs may go on for a while.
        case announced
        /// The grace is over: statements are refused.
        case forced
        /// The connections are being closed.
        case leaving
        /// The connections are being closed, and the suspension has been ended in the meantime.
        case returning
        /// No connection is open.
        case left
    }

    private(set) var stage = Stage.none
    /// The number of the present suspension, or of the last one.
    private(set) var number = 0

    /// Whether the file is to be left, or has been.
    var isWanted: Bool { stage != .none && stage != .returning }

    /// Whether statements are refused.
    var refusesStatements: Bool { stage == .forced || stage == .leaving || stage == .left }

    /// Begins a suspension, or joins the present one.
    ///
    /// - Returns: Its number.
    mutating func announce() -> Int {
        switch stage {
        case .none: (stage, number) = (.announced, number + 1)
        case .returning: (stage, number) = (.leaving, number + 1)
        case .announced, .forced, .leaving, .left: break
        }
        return number
    }

    /// Ends the grace of a suspension, unless that is over already.
    mutating func force(_ number: Int) {
        if stage == .announced, number == self.number { stage = .forced }
    }

    /// Whether what is left to do is closing the connections.
    var mayLeave: Bool { stage == .announced || stage == .forced }

    /// Begins to close the connections.
    mutating func beginLeaving() { if mayLeave { stage = .leaving } }

    /// Begins to close the connections, unless that suspension is over, or another one has begun.
    mutating func beginLeaving(_ number: Int) -> Bool {
        guard mayLeave, number == self.number else { return false }
        stage = .leaving
        return true
    }

    /// The connections are closed.
    mutating func endLeaving() {
        switch stage {
        case .leaving: stage = .left
        case .returning: stage = .none
        case .none, .announced, .forced, .left: break
        }
    }

    /// Ends the suspension, however far it has come.
    ///
    /// - Returns: Whether there was one.
    mutating func end() -> Bool {
        guard isWanted else { return false }
        stage = stage == .leaving ? .returning : .none
        return true
    }
}
