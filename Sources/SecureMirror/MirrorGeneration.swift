internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// Writes one generation of a mirror: a snapshot, then what is committed.
///
/// After an error of the store, a method may be called again, and continues. One call at a time,
/// which `DatabaseMirror` ensures: an actor alone would begin another one while the first waits for
/// the store.
actor MirrorGeneration {
    nonisolated let number: UInt64
    nonisolated let source: CommittedPages
    nonisolated let key: SymmetricKey
    private let place: MirrorPlace
    private let salt: [UInt8]
    private let status: StatusChanges<DatabaseMirror.Status>

    /// Where the log was when `source` began.
    private let start: LogPosition
    private var hasBegun = false
    /// The pages of the snapshot that were stored.
    private var storedPages = 0
    /// The MAC of the snapshot's last part.
    private var snapshotEnd: [UInt8]?

    /// The number of the next segment.
    private var next: UInt64 = 1
    /// The MAC of the last object.
    private var last = MirrorObject.noMAC
    /// What could not be shipped whole yet.
    private var unfinished: Unfinished?
    private var (isComplete, isFinished) = (false, false)
    /// Whether another mirror may have written the last segments before.
    private var isUnchecked = false
    /// When this generation was last known to be written to by nobody else.
    private var lastCheck: (clock: UInt64, instant: ContinuousClock.Instant)
    /// Objects that were sent, without an answer: at most one of those with pages.
    private var sent: [String: Data] = [:]

    private struct Unfinished {
        let changes: CommittedPages.Changes
        let time: UInt64
        /// Where the changes begin.
        let start: LogPosition
        /// The pages that were shipped.
        var done = 0
    }

    /// Pages in an object: 2 MiB of the usual size.
    static func pagesPerObject(_ pageSize: Int) -> Int { max((2 << 20) / pageSize, 1) }

    init(
        _ number: UInt64, of source: CommittedPages, in place: MirrorPlace,
        _ status: StatusChanges<DatabaseMirror.Status>
    ) {
        self.number = number
        self.source = source
        self.place = place
        self.status = status
        start = source.position
        lastCheck = (place.clock.now, .now)
        let keys = source.keys
        salt = keys.salt
        key = place.key(from: keys)
    }

    private var names: MirrorNames { place.names }

    private func object(_ kind: MirrorObject.Kind, _ numbers: ClosedRange<UInt64>) -> MirrorObject {
        MirrorObject(
            kind: kind, generation: number, numbers: numbers,
            time: kind == .manifest ? place.clock.nextOfGeneration() : place.clock.next(),
            pageSize: UInt32(source.pageSize), previous: last, salt: salt)
    }

    /// What another generation is ended with.
    var end: MirrorObject {
        var end = object(.end, 0...0)
        end.previous = MirrorObject.noMAC
        return end
    }

    /// - Returns: The object's MAC.
    private func create(
        _ name: String, _ make: () async throws -> Data
    ) async throws -> [UInt8] {
        let object = if let bytes = sent[name] { bytes } else { try await make() }
        sent[name] = object
        try await place.create(name, object)
        sent[name] = nil
        status.noteStored(object.count)
        return MirrorObject.mac(of: object)
    }

    // MARK: - Beginning and end

    /// Takes the number, before any other generation is ended for this one.
    func begin() async throws {
        guard !hasBegun else { return }
        last = try await create(names.generation(number)) { beginning() }
        hasBegun = true
    }

    /// Returns an object that begins the generation.
    func beginning() -> Data {
        var beginning = object(.generation, 0...0)
        // One of another mirror, of the same database and millisecond, would be the same, and both
        // would take themselves for the one that has created it.
        beginning.previous = MirrorObject.randomMAC()
        return beginning.sealed(Data(), key)
    }

    /// Stores all pages, as they were when `source` began.
    func writeSnapshot() async throws {
        let pageCount = source.pageCount
        while storedPages < pageCount {
            let first = storedPages + 1
            let count = min(Self.pagesPerObject(source.pageSize), pageCount - storedPages)
            last = try await create(names.part(UInt64(first), of: number)) {
                var part = object(.part, UInt64(first)...UInt64(first + count - 1))
                part.pages = (first..<(first + count)).map { UInt32($0) }
                let pages = try await onOwnThread { [source] in
                    try source.snapshotPages(first, count: count)
                }
                return part.sealed(pages, key)
            }
            storedPages += count
        }
        snapshotEnd = snapshotEnd ?? last
    }

    /// Makes the generation the one that is restored, from now on.
    ///
    /// What was shipped until now belongs to the state that it begins with.
    ///
    /// - Parameter earlier: The generation that was the newest complete one, and the MAC of its
    ///   last segment: so that none can be lost, or cut, without a trace.
    /// - Throws: `MirrorError`.
    func complete(after earlier: (number: UInt64, end: [UInt8])?) async throws {
        _ = try await create(names.manifest(of: number)) {
            var manifest = object(.manifest, 0...(next - 1))
            manifest.previous = snapshotEnd ?? last
            manifest.pageCount = UInt32(storedPages)
            manifest.position = start
            if let earlier { (manifest.follows, manifest.merged) = earlier }
            return manifest.sealed(Data(), key)
        }
        isComplete = true
    }

    /// Ends this generation, if no other mirror has ended it: a later one continues.
    ///
    /// - Returns: The MAC of its last segment.
    /// - Throws: `MirrorError`.
    func finish() async throws -> [UInt8] {
        if unfinished != nil { try await shipUnfinished() }
        guard !isFinished else { return last }
        _ = try await create(names.segment(next...next, of: number)) {
            object(.end, next...next).sealed()
        }
        guard try await isLast(next) else { throw MirrorError.otherMirror(names.mirror) }
        isFinished = true
        return last
    }

    /// Returns whether no segment has a greater number.
    private func isLast(_ number: UInt64) async throws -> Bool {
        try await place.store.list(
            names.segments(.log, of: self.number),
            after: names.segment(number...number, of: self.number)
        ).objects.isEmpty
    }

    /// Continues where an earlier writer has stopped.
    ///
    /// - Returns: false if that is impossible: the generation has ended, or is of another state of
    ///   the database or of another key.
    func resume() async throws -> Bool {
        guard
            let manifest = try await place.sound(
                names.manifest(of: number), .manifest, of: number, key)
        else { return false }
        lastCheck = (place.clock.now, .now)
        isComplete = true
        var log = MirrorLog(place, number)
        let chain = try await log.chain()
        let end = chain.last?.numbers.upperBound ?? 0
        // All are there, also if others merge and remove them at the same time.
        guard end >= manifest.object.numbers.upperBound, log.following(end) == nil else {
            return false
        }
        var position = manifest.object.position
        last = manifest.object.previous
        // Back to the last object that ends a commit.
        var newest: MirrorObject.Read?
        for entry in chain.reversed() {
            guard let read = try await place.sound(entry.name, .segment, of: number, key) else {
                return false
            }
            newest = newest ?? read
            position = read.object.position
            if read.object.endsCommit { break }
        }
        if let newest { (next, last) = (newest.object.numbers.upperBound + 1, newest.end) }
        guard let position else { return false }
        return try await onOwnThread { [source] in try source.resume(at: position) }
    }

    // MARK: - Segments

    /// Stores everything that was committed before the call.
    func ship() async throws {
        if unfinished != nil { try await shipUnfinished() }
        let start = source.position
        try await ship(try await onOwnThread { [source] in try source.next() }, from: start)
        // Little is left to read while writers wait.
        if source.hasLongLog {
            let start = source.position
            try await ship(try await source.emptyLog(), from: start)
        }
        try await requireOnlyWriter()
    }

    private func ship(_ changes: CommittedPages.Changes?, from start: LogPosition) async throws {
        guard let changes else { return }
        status.noteCommits()
        unfinished = Unfinished(changes: changes, time: place.clock.nextOfState(), start: start)
        try await shipUnfinished()
    }

    /// Checks after a pause that no other mirror of this name has continued in it.
    ///
    /// What it wrote under our numbers may have been merged and removed since. The last segment is
    /// never removed.
    private func requireOnlyWriter() async throws {
        guard isUnchecked else { return }
        let now = (place.clock.now, ContinuousClock.now)
        let away = max(
            now.1 - lastCheck.instant,
            .milliseconds(Int64(now.0 > lastCheck.clock ? now.0 - lastCheck.clock : 0)))
        if away > Self.longestPause {
            guard try await isLast(next - 1) else { throw MirrorError.otherMirror(names.mirror) }
        }
        (isUnchecked, lastCheck) = (false, now)
    }

    /// After less than that, what others have written is still there.
    static let longestPause = Duration.seconds(10)

    private func shipUnfinished() async throws {
        let step = Self.pagesPerObject(source.pageSize)
        while var now = unfinished {
            last = try await create(names.segment(next...next, of: number)) {
                try segment(now, step)
            }
            isUnchecked = true
            next += 1
            now.done += step
            unfinished = now.done < now.changes.pages.count ? now : nil
        }
    }

    private func segment(_ now: Unfinished, _ step: Int) throws -> Data {
        let pages = now.changes.pages.dropFirst(now.done).prefix(step)
        var segment = object(.segment, next...next)
        segment.time = now.time
        segment.followsManifest = isComplete
        segment.beginsCommit = now.done == 0
        segment.endsCommit = now.done + step >= now.changes.pages.count
        segment.pageCount = UInt32(now.changes.pageCount)
        segment.position = segment.endsCommit ? now.changes.end : now.start
        segment.pages = Array(pages)
        return segment.sealed(try now.changes.bytes(of: pages), key)
    }
}
