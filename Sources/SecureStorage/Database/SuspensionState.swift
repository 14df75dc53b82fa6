/// The progress of a suspension.
///
/// A value without a lock, which lets a test try every order of its changes; see `PoolState`.
struct SuspensionState: Hashable {
    enum Stage: Hashable {
        /// The file is in use.
        case none
        /// Running calls may continue for the grace period.
        case announced
        /// The grace period is over: statements are refused.
        case forced
        /// The connections are being closed.
        case leaving
        /// The connections are being closed, but the suspension has already been ended.
        case returning
        /// All connections are closed.
        case left
    }

    private(set) var stage = Stage.none
    /// The number of the current suspension, or of the last one.
    private(set) var number = 0

    /// Whether the file must be released, or has been.
    var isWanted: Bool { stage != .none && stage != .returning }

    /// Whether statements are refused.
    var refusesStatements: Bool { stage == .forced || stage == .leaving || stage == .left }

    /// Begins a suspension, or joins the current one.
    ///
    /// - Returns: The number of the suspension.
    mutating func announce() -> Int {
        switch stage {
        case .none: (stage, number) = (.announced, number + 1)
        case .returning: (stage, number) = (.leaving, number + 1)
        case .announced, .forced, .leaving, .left: break
        }
        return number
    }

    /// Ends the grace period of a suspension, unless it is already over.
    mutating func force(_ number: Int) {
        if stage == .announced, number == self.number { stage = .forced }
    }

    /// Whether closing the connections is the next step.
    var mayLeave: Bool { stage == .announced || stage == .forced }

    /// Starts closing the connections.
    mutating func beginLeaving() { if mayLeave { stage = .leaving } }

    /// Starts closing the connections, unless that suspension is over or another one has begun.
    mutating func beginLeaving(_ number: Int) -> Bool {
        guard mayLeave, number == self.number else { return false }
        stage = .leaving
        return true
    }

    /// Records that the connections are closed.
    mutating func endLeaving() {
        switch stage {
        case .leaving: stage = .left
        case .returning: stage = .none
        case .none, .announced, .forced, .left: break
        }
    }

    /// Ends the suspension, whatever its stage.
    ///
    /// - Returns: Whether a suspension was in effect.
    mutating func end() -> Bool {
        guard isWanted else { return false }
        stage = stage == .leaving ? .returning : .none
        return true
    }
}
