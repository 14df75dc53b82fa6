internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// Ships what a database has committed into generations of a mirror.
///
/// `ship()` and `rest()` run one at a time, and `maintain` as well, which `DatabaseMirror` ensures:
/// an actor alone would begin another one while the first waits for the store.
///
/// Whoever completes a generation has ended all before it, so exactly one can be written to.
actor MirrorWriter {
    private let database: any SecureDatabaseReader
    private let place: MirrorPlace
    private let status: StatusChanges<DatabaseMirror.Status>

    private var isProbed = false
    /// The greatest number of a generation that this mirror has begun or continued.
    private var ownNumber: UInt64?
    /// Another mirror has begun, so this one does not begin again.
    private var isOver = false
    private var current: MirrorGeneration?
    /// The one whose snapshot is being stored.
    private var preparing: MirrorGeneration?
    /// The one that `ship()` continues with.
    private var prepared: MirrorGeneration?
    private var compaction: MirrorCompaction?
    /// The file has pages that the log does not know: no generation can continue.
    private var beginsAnew = false

    init(
        _ database: any SecureDatabaseReader, _ place: MirrorPlace,
        _ status: StatusChanges<DatabaseMirror.Status>
    ) {
        self.database = database
        self.place = place
        self.status = status
    }

    /// Ends the read transactions; the next `ship()` begins again.
    func rest() {
        for generation in [current, preparing, prepared] { generation?.source.end() }
        (current, preparing, prepared) = (nil, nil, nil)
    }

    /// Whether the next `ship()` continues with a new generation.
    var hasPrepared: Bool { prepared != nil }

    /// Ends the read transactions if the log has become too large.
    func letGo(ofMoreThan limit: Int) {
        if let one = current ?? preparing ?? prepared, one.source.logSize > limit { rest() }
    }

    /// Lets checkpoints empty the log if everything in it was shipped.
    func leaveLog() async {
        guard let source = current?.source else { return }
        // An error is met again at the next shipment.
        try? await onOwnThread { try source.leaveLog() }
    }

    // MARK: - Shipping

    /// Ships everything that was committed before the call.
    ///
    /// - Throws: `MirrorError`; the errors of the database.
    func ship() async throws {
        guard !isOver else { throw MirrorError.otherMirror(place.names.mirror) }
        do {
            if !isProbed {
                try await place.store.probe(under: place.names.mirror + "/")
                isProbed = true
            }
            do {
                try await shipAll()
            } catch let error as SecureStorageError where error.resultCode == .busySnapshot {
                // The key has changed, the log was lost, or the file was overwritten: only a new
                // snapshot helps.
                let sources = [current, preparing, prepared].compactMap { $0?.source }
                if sources.contains(where: \.isOverwritten) { beginsAnew = true }
                rest()
                try await shipAll()
            }
        } catch {
            if (error as? MirrorError)?.isTransient == true { throw error }
            rest()
            if case MirrorError.otherMirror = error { isOver = true }
            throw error
        }
    }

    private func shipAll() async throws {
        if let prepared {
            try await switchOver(to: prepared)
        } else if let current {
            try await current.ship()
        } else {
            try await begin()
        }
    }

    private func begin() async throws {
        if preparing == nil, let resumed = try await resumeOrPrepare() {
            current = resumed
            return
        }
        guard let new = preparing else { return }
        try await new.begin()
        // Those that may still be written to: the newest complete one, and those begun after it.
        let end = await new.end
        let numbers = try await place.generations()
        // The number may be one of a generation that was removed long ago.
        guard numbers.last == new.number else { throw MirrorError.otherMirror(place.names.mirror) }
        var earlier: (number: UInt64, end: [UInt8])?
        ending: for number in numbers.reversed() where number < new.number {
            switch try await place.end(number, with: end) {
            case .never: continue
            case .unknown: earlier = earlier ?? (number, MirrorObject.noMAC)
            case .complete:
                let last = try await place.lastSegment(of: number, new.key)
                earlier = earlier ?? (number, last)
                break ending
            }
        }
        // Until then another mirror may have stored something.
        try await noteTimes(new.source)
        try await new.writeSnapshot()
        try await new.ship()
        try await new.complete(after: earlier)
        (current, preparing, beginsAnew) = (new, nil, false)
    }

    /// Returns the newest complete generation, if this writer can continue it; otherwise prepares
    /// a new one.
    private func resumeOrPrepare() async throws -> MirrorGeneration? {
        let source = try await newSource()
        do {
            try await noteTimes(source)
            let numbers = try await place.generations {
                await self.generation($0, source).beginning()
            }
            if let ownNumber, let newest = numbers.last, newest > ownNumber {
                throw MirrorError.otherMirror(place.names.mirror)
            }
            for number in beginsAnew ? [] : numbers.reversed() {
                let old = generation(number, source)
                if case .never = try await place.completeness(of: number) {
                    // Another mirror may be about to complete it, and to end those before it: this
                    // one has to begin after that.
                    let isOwn = ownNumber.map { number <= $0 } ?? false
                    let hasEnd = try await place.hasEnd(number)
                    guard isOwn || hasEnd else { break }
                    if case .never = try await place.end(number, with: old.end) { continue }
                }
                guard try await old.resume() else { break }
                ownNumber = numbers.last
                try await old.ship()
                return old
            }
            preparing = newGeneration(after: numbers, source)
            return nil
        } catch {
            source.end()
            throw error
        }
    }

    /// Continues with a generation whose snapshot is stored.
    private func switchOver(to next: MirrorGeneration) async throws {
        // Everything in the current one, and what was committed since.
        try await next.ship()
        var earlier: (number: UInt64, end: [UInt8])?
        if let current { earlier = (current.number, try await current.finish()) }
        try await next.complete(after: earlier)
        current?.source.end()
        (current, prepared) = (next, nil)
    }

    private func noteTimes(_ source: CommittedPages) async throws {
        let key = place.key(from: source.keys)
        if let newest = try await place.newestTime(key) { place.clock.note(newest) }
    }

    private func newSource() async throws -> CommittedPages {
        try await onOwnThread { [database] in try CommittedPages(of: database) }
    }

    /// Reserves the number at once, for no other of this mirror.
    private func newGeneration(
        after numbers: [UInt64], _ source: CommittedPages
    ) -> MirrorGeneration {
        let number = max(numbers.last ?? 0, ownNumber ?? 0) + 1
        ownNumber = number
        return generation(number, source)
    }

    private func generation(_ number: UInt64, _ source: CommittedPages) -> MirrorGeneration {
        MirrorGeneration(number, of: source, in: place, status)
    }

    // MARK: - Maintenance

    /// Merges segments of time that is over, removes what is not kept, and stores a new snapshot if
    /// it is time, with which the next `ship()` continues; `ship()` may run meanwhile.
    func maintain(_ settings: DatabaseMirror.Settings) async throws {
        guard let current else { return }
        if compaction?.generation != current.number {
            compaction = MirrorCompaction(place, current.number, current.key)
        }
        let now = place.clock.nextForRemoval()
        var damage: MirrorError?
        do {
            if var compaction {
                try await compaction.merge()
                try await compaction.trim(settings, at: now)
                self.compaction = compaction
            }
        } catch let error as MirrorError where error.isFinding {
            // The later states cannot be restored without what is damaged: they need a snapshot.
            damage = error
        }
        try await prepareNext(current, settings, isDamaged: damage != nil)
        try await MirrorRetention(place, before: current).remove(settings, at: now)
        if let damage { throw damage }
    }

    /// Removes the generations whose keys are not that of the current one.
    ///
    /// - Returns: false if there is no current one.
    func purgeOldKeys() async throws -> Bool {
        guard let current else { return false }
        try await Task.sleep(for: MirrorGeneration.longestPause)
        try await MirrorRetention(place, before: current).removeOtherKeys(before: current.number)
        return true
    }

    private func prepareNext(
        _ current: MirrorGeneration, _ settings: DatabaseMirror.Settings, isDamaged: Bool
    ) async throws {
        guard prepared == nil else { return }
        if preparing == nil {
            let isTime = try await isTimeForNext(current, settings)
            guard isDamaged || isTime else { return }
            let numbers = try await place.generations()
            // Otherwise the later ones may be this mirror's.
            guard isFree(current) else { return }
            // The one that began last continues.
            guard numbers.allSatisfy({ $0 <= ownNumber ?? 0 }) else {
                throw MirrorError.otherMirror(place.names.mirror)
            }
            let source = try await newSource()
            guard isFree(current) else {
                source.end()
                return
            }
            preparing = newGeneration(after: numbers, source)
        }
        guard let next = preparing, self.current === current else { return }
        do {
            try await next.begin()
            guard try await place.generations().last == next.number else {
                throw MirrorError.otherMirror(place.names.mirror)
            }
            try await next.writeSnapshot()
            // What was committed meanwhile, so that `goOn` has little to do.
            try await next.ship()
        } catch {
            if preparing === next, (error as? MirrorError)?.isTransient != true {
                next.source.end()
                preparing = nil
            }
            throw error
        }
        // Unless the key has changed or the pool was suspended in the meantime.
        if preparing === next { (preparing, prepared) = (nil, next) }
    }

    /// Whether a generation is still the current one, and no later one is being prepared.
    private func isFree(_ current: MirrorGeneration) -> Bool {
        self.current === current && preparing == nil && prepared == nil
    }

    private func isTimeForNext(
        _ current: MirrorGeneration, _ settings: DatabaseMirror.Settings
    ) async throws -> Bool {
        let name = place.names.manifest(of: current.number)
        // Without it, none of its states can be restored.
        guard let manifest = try await place.sound(name, .manifest, of: current.number, current.key)
        else { return true }
        if settings.keepsHours.isOver(from: manifest.object.time, to: place.clock.now) {
            return true
        }
        var log = MirrorLog(place, current.number)
        let size = try await log.chain().reduce(0) { $0 + $1.size }
        let half = current.source.pageCount * current.source.pageSize / 2
        return size > max(half, Self.leastLog)
    }

    /// Bytes of a log that are worth no new snapshot, however small the database is.
    static let leastLog = 16 << 20
}
