/// Decides which caller may use which connection of a pool: whether the pool is open, suspended or
/// changing its key.
///
/// All such decisions are made here. This is a value without locks and connections:
/// `PoolConnections` has one, changes it under its lock, and does what the changes require. So a
/// test can try every order of the changes that threads can make (`PoolStateTests`).
///
/// ```text
///             beginOpening          endOpening            beginClosing        lastDuty: close
///   closed ────────────────► opening ─────────► open ───────────────────► closing ──────► draining
///     ▲                         │                │ ▲                                          │
///     └─────────────────────────┴────────────────┼─┼──────────────────────────────────────────┘
///                  when it fails                 │ │                             endClosing
///                                                ▼ │
///                  a suspension (`SuspensionState`), whose connections the last user closes
/// ```
///
/// The writer has one user at a time: a block, a key change, or a call that opens or closes it. The
/// turn decides which block is next; this type ensures that there is only one.
struct PoolState: Hashable {
    enum Phase: Hashable {
        case closed, opening, open
        /// No new call is admitted; the last user closes the connections.
        case closing
        /// The connections are being closed.
        case draining
    }

    /// What a reader reads.
    enum Place: Hashable {
        case file
        /// The copy that a suspended pool reads, with the number of the suspension.
        case copy(Int)
    }

    /// The answer to a call that wants to read or to write.
    enum Admission: Hashable {
        case admitted(Place)
        case waits
        case closed
        case suspended
    }

    /// The duty of the user that leaves last.
    enum Duty: Hashable {
        /// Closing the connections to the file, then `endLeaving()`.
        case leave
        /// Closing everything, then `endClosing()`.
        case close
    }

    private struct Users: Hashable {
        var readers = 0
        /// Iterations over rows, each with its own connection.
        var rows = 0

        var isEmpty: Bool { readers == 0 && rows == 0 }
    }

    let readerLimit: Int
    private(set) var phase = Phase.closed
    private(set) var suspension = SuspensionState()
    /// Whether reads continue from a copy while the pool is suspended.
    private(set) var keepsReads = false
    /// Whether the key is being changed, or waits for the readers of the file to end.
    private(set) var isRekeying = false
    /// Whether the writer is in use.
    private(set) var isWriterTaken = false
    private var onFile = Users()
    private var onCopies = Users()

    init(readerLimit: Int) { self.readerLimit = readerLimit }

    // MARK: - Opening and closing

    /// Takes the writer to open it, if the pool is closed.
    mutating func beginOpening() -> Admission {
        switch phase {
        case .closed:
            phase = .opening
            isWriterTaken = true
            return .admitted(.file)
        // Open already.
        case .open: return .closed
        case .opening, .closing, .draining: return .waits
        }
    }

    mutating func endOpening(isOpen: Bool) {
        isWriterTaken = false
        phase = isOpen ? .open : .closed
        if !isOpen { endSuspension() }
    }

    /// Admits no new calls; a suspension ends.
    ///
    /// - Returns: False if the pool is not open.
    mutating func beginClosing() -> Bool {
        guard phase == .open else { return false }
        phase = .closing
        endSuspension()
        return true
    }

    mutating func endClosing() {
        phase = .closed
        isWriterTaken = false
        endSuspension()
    }

    private mutating func endSuspension() {
        _ = suspension.end()
        keepsReads = false
    }

    /// Returns the caller's duty as the last user; called after each change that releases a user.
    mutating func takeDuty() -> Duty? {
        guard !isWriterTaken else { return nil }
        if phase == .closing, onFile.isEmpty, onCopies.isEmpty {
            phase = .draining
            isWriterTaken = true
            return .close
        }
        if phase == .open, suspension.mayLeave, onFile.readers == 0 {
            suspension.beginLeaving()
            isWriterTaken = true
            return .leave
        }
        return nil
    }

    // MARK: - The writer

    /// Takes the writer, for the caller that has its turn.
    ///
    /// While the connections are closed for a suspension, the caller waits, but not for long.
    mutating func takeWriter() -> Admission {
        guard phase == .open else { return .closed }
        guard !isWriterTaken else { return .waits }
        isWriterTaken = true
        return .admitted(.file)
    }

    mutating func releaseWriter() { isWriterTaken = false }

    /// Keeps readers off the file; called with the writer.
    mutating func beginRekey() { isRekeying = true }

    /// Whether the key can be changed now, or never because the pool is being closed.
    var rekeyMayGoOn: Bool { onFile.readers == 0 || phase != .open }

    mutating func endRekey() { isRekeying = false }

    // MARK: - Readers

    /// The answer to a reader that arrives now.
    var admission: Admission {
        guard phase == .open else { return .closed }
        let place: Place
        switch suspension.stage {
        case .none: place = .file
        case .announced, .returning: return .waits
        case .forced, .leaving:
            if keepsReads { return .waits }
            return .suspended
        case .left:
            guard keepsReads else { return .suspended }
            place = .copy(suspension.number)
        }
        // Two reasons to wait, which end independently.
        if place == .file, isRekeying { return .waits }
        guard onFile.readers + onCopies.readers < readerLimit else { return .waits }
        return .admitted(place)
    }

    /// Takes a slot for an admitted reader, or for one beyond the limit.
    mutating func enter(_ place: Place) {
        change(place) { $0.readers += 1 }
    }

    /// Gives a slot back.
    mutating func leave(_ place: Place) {
        change(place) { $0.readers -= 1 }
    }

    /// Whether idle readers can be closed now, by a caller that takes slots for them.
    ///
    /// Otherwise other callers close them, or are about to use their file exclusively.
    var mayReleaseIdle: Bool {
        guard phase == .open else { return false }
        switch suspension.stage {
        case .none: return !isRekeying
        case .left: return true
        case .announced, .forced, .leaving, .returning: return false
        }
    }

    /// The place that open, idle readers read.
    var place: Place { suspension.stage == .left ? .copy(suspension.number) : .file }

    /// Whether a reader that gives its slot back now is useful to the next one.
    func keeps(readerOf place: Place) -> Bool {
        suspension.stage != .forced && place == self.place
    }

    /// Whether copying for a suspension may begin; it takes a slot beyond the limit.
    ///
    /// - Returns: `.closed` if no copy is needed.
    var copyAdmission: Admission {
        if phase == .opening { return .waits }
        guard phase == .open, !suspension.isWanted else { return .closed }
        return isRekeying || suspension.stage == .returning ? .waits : .admitted(.file)
    }

    /// Counts an iteration over rows, whose creator has a slot.
    ///
    /// - Returns: False if the pool is being closed: nothing would end the iteration then.
    mutating func beginRows(_ place: Place) -> Bool {
        guard phase == .open else { return false }
        change(place) { $0.rows += 1 }
        return true
    }

    mutating func endRows(_ place: Place) {
        change(place) { $0.rows -= 1 }
    }

    private mutating func change(_ place: Place, _ body: (inout Users) -> Void) {
        if place == .file { body(&onFile) } else { body(&onCopies) }
    }

    // MARK: - Suspension

    /// Begins a suspension, or joins the current one: no reader begins until it is complete.
    ///
    /// - Parameter keepsReads: Whether there is a copy to read.
    /// - Returns: Its number; for a closed pool, the last one's, which is complete.
    mutating func announceSuspension(keepingReads keepsReads: Bool) -> Int {
        guard phase != .closed else { return suspension.number }
        if !suspension.isWanted { self.keepsReads = keepsReads && phase == .open }
        return suspension.announce()
    }

    mutating func forceSuspension(_ number: Int) { suspension.force(number) }

    mutating func endLeaving() {
        isWriterTaken = false
        suspension.endLeaving()
    }

    /// Ends a suspension at any stage.
    ///
    /// - Returns: Whether there was one.
    mutating func resume() -> Bool {
        guard suspension.end() else { return false }
        keepsReads = false
        return true
    }

    /// Returns the outcome of a suspension: true if no connection to the file is open.
    ///
    /// - Returns: nil while it is in progress.
    func outcome(ofSuspension number: Int) -> Bool? {
        switch phase {
        case .closed: return true
        // It will be closed soon, whatever became of the suspension.
        case .closing, .draining: return nil
        case .opening, .open: break
        }
        guard suspension.isWanted, suspension.number == number else { return false }
        return suspension.stage == .left && onFile.rows == 0 ? true : nil
    }
}
