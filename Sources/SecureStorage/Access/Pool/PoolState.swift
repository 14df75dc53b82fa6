/// Who may use which connection of a pool: whether it is open, suspended, or changes its key.
///
/// The one place where that is decided. It is a value without locks and connections:
/// `PoolConnections` has one, changes it under its lock, and does what the changes demand. So a
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
/// The writer has one user at a time: a block, a change of the key, or whoever opens or closes it.
/// Who is next among the blocks is the turn's business; that there is one only is this type's.
struct PoolState: Hashable {
    enum Phase: Hashable {
        case closed, opening, open
        /// Nobody new is let in; the last user closes the connections.
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

    /// The answer to somebody who wants to read, or to write.
    enum Admission: Hashable {
        case admitted(Place)
        case waits
        case closed
        case suspended
    }

    /// What falls to the user who leaves as the last one.
    enum Duty: Hashable {
        /// Closing the connections to the file, then `endLeaving()`.
        case leave
        /// Closing everything, then `endClosing()`.
        case close
    }

    private struct Users: Hashable {
        var readers = 0
        /// Iterations over rows, each with a connection of its own.
        var rows = 0

        var isEmpty: Bool { readers == 0 && rows == 0 }
    }

    let readerLimit: Int
    private(set) var phase = Phase.closed
    private(set) var suspension = SuspensionState()
    /// Whether reads go on from a copy while the pool is suspended.
    private(set) var keepsReads = false
    /// Whether the key is being changed, or waits for the readers of the file to end.
    private(set) var isRekeying = false
    /// Whether somebody has the writer.
    private(set) var isWriterTaken = false
    private var onFile = Users()
    private var onCopies = Users()

    init(readerLimit: Int) { self.readerLimit = readerLimit }

    // MARK: - Opening and closing

    /// Takes the writer for opening it, when the pool is closed.
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

    /// Lets nobody new in; a suspension ends.
    ///
    /// - Returns: False when the pool is not open.
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

    /// What the caller has to do as the last one out; to be asked after each change that lets
    /// somebody out.
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

    /// Takes the writer, for whoever has its turn.
    ///
    /// While the connections are closed for a suspension the caller waits: not for long.
    mutating func takeWriter() -> Admission {
        guard phase == .open else { return .closed }
        guard !isWriterTaken else { return .waits }
        isWriterTaken = true
        return .admitted(.file)
    }

    mutating func releaseWriter() { isWriterTaken = false }

    /// Keeps readers off the file; to be called with the writer.
    mutating func beginRekey() { isRekeying = true }

    /// Whether the key can be changed now, or never: the pool is being closed.
    var rekeyMayGoOn: Bool { onFile.readers == 0 || phase != .open }

    mutating func endRekey() { isRekeying = false }

    // MARK: - Readers

    /// The answer to a reader that comes now.
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
        // Two reasons to wait, which end apart from each other.
        if place == .file, isRekeying { return .waits }
        guard onFile.readers + onCopies.readers < readerLimit else { return .waits }
        return .admitted(place)
    }

    /// Takes a slot for a reader that was admitted, or for one beyond the limit.
    mutating func enter(_ place: Place) {
        change(place) { $0.readers += 1 }
    }

    /// Gives a slot back.
    mutating func leave(_ place: Place) {
        change(place) { $0.readers -= 1 }
    }

    /// Whether readers that nobody uses can be closed now, by somebody who takes slots for them.
    ///
    /// Else others close them, or are about to use their file alone.
    var mayReleaseIdle: Bool {
        guard phase == .open else { return false }
        switch suspension.stage {
        case .none: return !isRekeying
        case .left: return true
        case .announced, .forced, .leaving, .returning: return false
        }
    }

    /// What readers that are open and idle read.
    var place: Place { suspension.stage == .left ? .copy(suspension.number) : .file }

    /// Whether a reader that gives its slot back now is of use to the next one.
    func keeps(readerOf place: Place) -> Bool {
        suspension.stage != .forced && place == self.place
    }

    /// Whether the copying for a suspension may begin; it takes a slot beyond the limit.
    ///
    /// - Returns: `.closed` when there is nothing to be copied for.
    var copyAdmission: Admission {
        if phase == .opening { return .waits }
        guard phase == .open, !suspension.isWanted else { return .closed }
        return isRekeying || suspension.stage == .returning ? .waits : .admitted(.file)
    }

    /// Counts an iteration over rows, whose maker has a slot.
    ///
    /// - Returns: False when the pool is being closed: then nobody would end the iteration.
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

    /// Begins a suspension, or joins the present one: no reader begins until it has come to its
    /// end.
    ///
    /// - Parameter keepsReads: Whether there is a copy to be read.
    /// - Returns: Its number; that of none, which has come to its end, when the pool is closed.
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

    /// Ends a suspension, however far it has come.
    ///
    /// - Returns: Whether there was one.
    mutating func resume() -> Bool {
        guard suspension.end() else { return false }
        keepsReads = false
        return true
    }

    /// How a suspension has ended: true when no connection to the file is open.
    ///
    /// - Returns: nil while it goes on.
    func outcome(ofSuspension number: Int) -> Bool? {
        switch phase {
        case .closed: return true
        // Soon it is closed, whatever has become of the suspension.
        case .closing, .draining: return nil
        case .opening, .open: break
        }
        guard suspension.isWanted, suspension.number == number else { return false }
        return suspension.stage == .left && onFile.rows == 0 ? true : nil
    }
}
