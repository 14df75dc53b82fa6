@testable import SecureStorage
@testable import SecureStorageTests

/// A model of a pool and of threads that make one call each, in every possible order of steps.
///
/// The state is the library's own. A thread's steps are the changes that `PoolConnections` makes
/// for the call, each under its lock. What happens between two steps, such as opening a connection,
/// is recorded here to show what is open at each point.
struct PoolModel: Hashable {
    enum Call: String, CaseIterable {
        case read, rows, write, rekey, open, close, suspend, keepReads, resume, release
    }

    struct Thread: Hashable {
        let call: Call
        var step = 0
        var place = PoolState.Place.file
        var number = 0
        var hasCopy = false
        var hasForced = false
        var slots = 0
        /// The duty that the thread has taken over; `hasBegunDuty` is whether it has begun it.
        var duty: PoolState.Duty?
        var hasBegunDuty = false
        var hasWriter = false
        var isDone = false
    }

    var state: PoolState
    var threads: [Thread] = []
    /// The index of the thread that has the writers' turn.
    var turn: Int?
    var isWriterOpen = false
    /// The number of readers that no thread uses; `idlePlace` is the place that they read.
    var idleCount = 0
    var idlePlace = PoolState.Place.file
    /// The fault found in the last step, if any.
    var fault: String?

    init(readerLimit: Int = 1) { state = PoolState(readerLimit: readerLimit) }

    /// Returns the states that one step of one thread leads to; none if all threads are done or
    /// blocked.
    func next() -> [PoolModel] {
        threads.indices.flatMap { steps(of: $0) }
    }

    private func steps(of index: Int) -> [PoolModel] {
        let thread = threads[index]
        guard !thread.isDone else { return [] }
        if thread.duty != nil { return [with { $0.goOnWithDuty(index) }] }
        switch thread.call {
        case .read, .rows: return reading(index)
        case .write: return writing(index, from: 0) { $0.threads[index].isDone = true }
        case .rekey: return rekeying(index)
        case .open: return opening(index)
        case .close: return closing(index)
        case .suspend, .keepReads: return suspending(index)
        case .resume: return resuming(index)
        case .release: return releasing(index)
        }
    }

    private func with(_ change: (inout PoolModel) -> Void) -> PoolModel {
        var model = self
        change(&model)
        return model
    }

    private mutating func takeDuty(_ index: Int) {
        threads[index].duty = state.takeDuty()
        threads[index].hasBegunDuty = false
        if threads[index].duty != nil { threads[index].hasWriter = true }
    }

    private mutating func goOnWithDuty(_ index: Int) {
        let thread = threads[index]
        guard thread.hasBegunDuty else {
            threads[index].hasBegunDuty = true
            idleCount = 0
            return
        }
        isWriterOpen = false
        threads[index].hasWriter = false
        switch thread.duty {
        case .leave: state.endLeaving()
        case .close: state.endClosing()
        case nil: fault = "no duty"
        }
        takeDuty(index)
    }

    // MARK: - Readers

    private mutating func takeSlot(_ index: Int, _ place: PoolState.Place) {
        state.enter(place)
        threads[index].place = place
        if idleCount > 0 {
            idleCount -= 1
            if idlePlace != place { fault = "a reader of \(idlePlace) for \(place)" }
        }
        if case .copy = place, !state.keepsReads { fault = "a copy that nobody keeps" }
    }

    private mutating func leave(_ index: Int, withReader hasReader: Bool) {
        let place = threads[index].place
        if hasReader, state.keeps(readerOf: place) {
            if idleCount > 0, idlePlace != place { fault = "idle readers of two places" }
            (idleCount, idlePlace) = (idleCount + 1, place)
        }
        state.leave(place)
        takeDuty(index)
    }

    private func reading(_ index: Int) -> [PoolModel] {
        let isRows = threads[index].call == .rows
        switch threads[index].step {
        case 0:
            switch state.admission {
            case .waits: return []
            case .closed, .suspended: return [with { $0.threads[index].isDone = true }]
            case .admitted(let place):
                return [
                    with {
                        $0.takeSlot(index, place)
                        $0.threads[index].step = 1
                    }
                ]
            }
        case 1 where isRows:
            return [
                with {
                    $0.threads[index].step = $0.state.beginRows($0.threads[index].place) ? 2 : 3
                }
            ]
        case 2:
            return [
                with {
                    $0.leave(index, withReader: false)
                    $0.threads[index].step = 4
                }
            ]
        case 4:
            return [
                with {
                    $0.state.endRows($0.threads[index].place)
                    $0.takeDuty(index)
                    $0.threads[index].step = 5
                }
            ]
        case 5: return [with { $0.threads[index].isDone = true }]
        default:
            return [
                with {
                    $0.leave(index, withReader: !isRows)
                    $0.threads[index].step = 5
                }
            ]
        }
    }

    private func releasing(_ index: Int) -> [PoolModel] {
        let thread = threads[index]
        guard thread.step > 0 else {
            guard state.mayReleaseIdle else { return [with { $0.threads[index].isDone = true }] }
            return [
                with {
                    $0.threads[index].step = 1
                    $0.threads[index].slots = $0.idleCount
                    $0.threads[index].place = $0.state.place
                    for _ in 0..<$0.idleCount { $0.state.enter($0.state.place) }
                    if $0.idleCount > 0, $0.idlePlace != $0.state.place {
                        $0.fault = "idle elsewhere"
                    }
                    $0.idleCount = 0
                }
            ]
        }
        guard thread.slots > 0 else { return [with { $0.threads[index].isDone = true }] }
        return [
            with {
                $0.threads[index].slots -= 1
                $0.leave(index, withReader: false)
            }
        ]
    }

    // MARK: - The writer

    /// The steps from `first` on, which acquire the turn and the writer, use the writer and release
    /// both.
    private func writing(
        _ index: Int, from first: Int, _ end: (inout PoolModel) -> Void
    ) -> [PoolModel] {
        switch threads[index].step - first {
        case 0:
            guard turn == nil else { return [] }
            return [
                with {
                    $0.turn = index
                    $0.threads[index].step += 1
                }
            ]
        case 1:
            var model = self
            switch model.state.takeWriter() {
            case .waits: return []
            case .admitted:
                model.threads[index].step += 1
                model.threads[index].hasWriter = true
            case .closed, .suspended: model.threads[index].step = first + 4
            }
            return [model]
        case 2:
            // A block that runs a statement, unless statements are refused, and a block that runs
            // none.
            let idle = with { $0.threads[index].step += 1 }
            guard !state.suspension.refusesStatements else { return [idle] }
            return [
                idle,
                with {
                    $0.isWriterOpen = true
                    $0.threads[index].step += 1
                },
            ]
        case 3:
            return [
                with {
                    $0.releaseWriter(index)
                    $0.threads[index].step += 1
                }
            ]
        default:
            return [
                with {
                    $0.turn = nil
                    end(&$0)
                }
            ]
        }
    }

    private mutating func releaseWriter(_ index: Int) {
        state.releaseWriter()
        threads[index].hasWriter = false
        takeDuty(index)
    }

    private func rekeying(_ index: Int) -> [PoolModel] {
        switch threads[index].step {
        // The steps of a write, except that the third one keeps readers out.
        case 2:
            return [
                with {
                    $0.state.beginRekey()
                    $0.threads[index].step = 10
                }
            ]
        case 10:
            guard state.rekeyMayGoOn else { return [] }
            let goesOn = state.phase == .open && !state.suspension.refusesStatements
            return [with { $0.threads[index].step = goesOn ? 11 : 12 }]
        case 11:
            // The key changes, and readers with the old key are closed.
            return [
                with {
                    $0.isWriterOpen = true
                    $0.idleCount = 0
                    $0.threads[index].step = 12
                }
            ]
        case 12:
            return [
                with {
                    $0.state.endRekey()
                    $0.threads[index].step = 3
                }
            ]
        default: return writing(index, from: 0) { $0.threads[index].isDone = true }
        }
    }

    // MARK: - Opening and closing

    private func opening(_ index: Int) -> [PoolModel] {
        switch threads[index].step {
        case 0:
            var model = self
            switch model.state.beginOpening() {
            case .waits: return []
            case .closed, .suspended: model.threads[index].isDone = true
            case .admitted:
                model.threads[index].step = 1
                model.threads[index].hasWriter = true
            }
            return [model]
        case 1:
            return [true, false].map { succeeds in
                with {
                    $0.threads[index].hasWriter = false
                    $0.isWriterOpen = succeeds
                    $0.state.endOpening(isOpen: succeeds)
                    $0.takeDuty(index)
                    $0.threads[index].step = 2
                }
            }
        default: return [with { $0.threads[index].isDone = true }]
        }
    }

    private func closing(_ index: Int) -> [PoolModel] {
        switch threads[index].step {
        case 0:
            guard state.phase != .opening else { return [] }
            return [with { $0.threads[index].step = $0.state.beginClosing() ? 1 : 2 }]
        case 1:
            return [
                with {
                    $0.takeDuty(index)
                    $0.threads[index].step = 2
                }
            ]
        default:
            guard ![.closing, .draining].contains(state.phase) else { return [] }
            return [with { $0.threads[index].isDone = true }]
        }
    }

    // MARK: - Suspension

    private func suspending(_ index: Int) -> [PoolModel] {
        let thread = threads[index]
        switch thread.step {
        case 0 where thread.call == .keepReads:
            switch state.copyAdmission {
            case .waits: return []
            case .closed, .suspended: return [with { $0.threads[index].step = 2 }]
            case .admitted(let place):
                return [
                    with {
                        $0.takeSlot(index, place)
                        $0.threads[index].step = 1
                    }
                ]
            }
        case 1:
            return [
                with {
                    $0.leave(index, withReader: true)
                    $0.threads[index].hasCopy = true
                    $0.threads[index].step = 2
                }
            ]
        case 0, 2:
            if thread.call == .keepReads, !thread.hasCopy, !state.suspension.isWanted,
                state.phase == .open
            {
                return [with { $0.threads[index].step = 0 }]
            }
            return [
                with {
                    let number = $0.state.announceSuspension(keepingReads: thread.hasCopy)
                    $0.threads[index].number = number
                    $0.takeDuty(index)
                    $0.threads[index].step = 3
                }
            ]
        default:
            guard let isFree = state.outcome(ofSuspension: thread.number) else {
                guard !thread.hasForced else { return [] }
                return [
                    with {
                        $0.state.forceSuspension(thread.number)
                        $0.threads[index].hasForced = true
                    }
                ]
            }
            return [
                with {
                    if isFree, $0.isFileOpen { $0.fault = "a lock is held, and suspend says no" }
                    $0.threads[index].isDone = true
                }
            ]
        }
    }

    private func resuming(_ index: Int) -> [PoolModel] {
        guard threads[index].step == 0 else {
            // The writer notifies observers of the resumption.
            return writing(index, from: 1) { $0.threads[index].isDone = true }
        }
        return [
            with {
                let readsCopy = $0.state.place != .file
                guard $0.state.resume() else {
                    $0.threads[index].isDone = true
                    return
                }
                if readsCopy { $0.idleCount = 0 }
                $0.threads[index].step = 1
            }
        ]
    }
}

extension PoolModel {
    private func isReading(_ thread: Thread, _ places: (PoolState.Place) -> Bool) -> Bool {
        switch thread.call {
        case .read: thread.step == 1 && places(thread.place)
        case .rows: [1, 2, 3].contains(thread.step) && places(thread.place)
        case .keepReads: thread.step == 1
        case .release: thread.slots > 0 && places(thread.place)
        default: false
        }
    }

    private func hasRows(_ thread: Thread) -> Bool {
        thread.call == .rows && [2, 4].contains(thread.step)
    }

    /// Whether any connection to the file is open after the steps so far.
    fileprivate var isFileOpen: Bool {
        isWriterOpen || idleCount > 0 && idlePlace == .file
            || threads.contains { thread in
                isReading(thread) { $0 == .file } || hasRows(thread) && thread.place == .file
            }
    }

    /// The violated invariant, which must hold in every order of steps; nil if none is violated.
    var problem: String? {
        if let fault { return fault }
        let users = threads.count(where: \.hasWriter)
        if users > 1 { return "\(users) threads have the writer" }
        if (users == 1) != state.isWriterTaken { return "the writer's user is not known" }
        let readsFile = threads.contains { isReading($0) { $0 == .file } }
        let readsAny = threads.contains { isReading($0) { _ in true } || hasRows($0) }
        if readsFile, threads.contains(where: { $0.call == .rekey && $0.step == 11 }) {
            return "the key is changed while somebody reads"
        }
        if state.suspension.stage == .left {
            let hasFileReaders = readsFile || idleCount > 0 && idlePlace == .file
            if isWriterOpen || hasFileReaders { return "the file was left, and is open" }
        }
        if state.phase == .draining, readsAny { return "it is closed under a reader" }
        if state.phase == .closed {
            if readsAny || isWriterOpen || idleCount > 0 { return "closed, and open" }
            if state.suspension.stage != .none || state.isRekeying { return "closed, and busy" }
        }
        let slots = threads.count { isReading($0) { _ in true } && $0.call != .keepReads }
        // Each `release` holds one slot per reader that it closes; one of them is counted above.
        let released = threads.reduce(0) { $0 + max($1.slots - 1, 0) }
        if slots + released > state.readerLimit + 1 { return "\(slots) slots" }
        return nil
    }

    /// The problem with a model in which no thread can take a step; nil if there is none.
    var finalProblem: String? {
        let waiting = threads.filter { !$0.isDone }.map { "\($0.call) at step \($0.step)" }
        guard waiting.isEmpty else {
            return "these wait for ever: \(waiting.joined(separator: ", "))"
        }
        var state = state
        _ = state.resume()
        guard state.phase == .open else {
            return state.phase == .closed ? nil : "it stays \(state.phase)"
        }
        if state.takeDuty() != nil { return "nobody has done what was left to do" }
        if state.admission != .admitted(.file) {
            return "after resume a read gets \(state.admission)"
        }
        return state.takeWriter() == .admitted(.file) ? nil : "nobody can write"
    }
}
