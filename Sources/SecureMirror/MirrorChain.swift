internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// The objects of a generation that make up a state: the snapshot, then the segments, each checked,
/// with its place in the chain.
struct MirrorChain: Sendable {
    let place: MirrorPlace
    let generation: UInt64
    let key: SymmetricKey
    let keys: PageKeys
    let manifest: MirrorObject.Read
    let point: DatabaseMirror.Point
    /// Whether a later generation is complete, so that this one has ended.
    let hasLater: Bool
    /// Whether the time of a later one is not known for sure: it is damaged, or of another key.
    let isLaterUnknown: Bool
    /// The MAC of the last segment, if the next generation names it.
    var lastSegment: [UInt8]?
    /// The time from which on the next one is restored, if it is known.
    let laterTime: UInt64?

    /// What receives the pages; runs on a thread of its own.
    typealias Visitor = @Sendable (MirrorObject.Read) throws -> Void

    private var names: MirrorNames { place.names }

    /// Finds the newest generation that was complete at a time.
    ///
    /// - Throws: `.noMirror`, `.damaged`.
    static func find(
        _ place: MirrorPlace, at point: DatabaseMirror.Point, _ key: DatabaseKey,
        _ cipher: CipherConfiguration
    ) async throws -> MirrorChain {
        var (hasLater, isUnknown) = (false, false)
        var laterTime: UInt64?
        var next: MirrorObject?
        var keys: PageKeys?
        var damage: MirrorError?
        for generation in try await place.generations().reversed() {
            switch try await place.completeness(of: generation) {
            case .never: continue
            case .unknown(let error):
                let pageKeys = next == nil ? nil : keys
                if let key = pageKeys.map(place.key),
                    try await place.isThinned(generation, key)
                {
                    continue
                }
                // It is the newest, or may have been at that time.
                guard point != .latest else { throw error }
                (hasLater, isUnknown, damage) = (true, true, error)
            case .complete(let manifest, let bytes):
                var before: MirrorPlace.Before?
                if let next, let key = keys.map(place.key) {
                    before = try await place.before(next, downTo: generation, key)
                }
                // Otherwise one between them was lost.
                if let before, before.number > generation { isUnknown = true }
                if point.includes(manifest.time) {
                    var chain = try await MirrorChain(
                        place, generation, hasLater: hasLater, isLaterUnknown: isUnknown,
                        laterTime: laterTime, bytes, point, key, cipher, earlier: keys)
                    chain.expect(before)
                    return chain
                }
                let later = try? await MirrorChain(
                    place, generation, hasLater: hasLater, isLaterUnknown: false, bytes, point,
                    key, cipher, earlier: keys)
                hasLater = true
                isUnknown = isUnknown || later == nil
                laterTime = manifest.time
                next = later?.manifest.object
                keys = later?.keys ?? keys
            }
        }
        throw damage ?? MirrorError.noMirror(place.names.mirror)
    }

    // `earlier`: keys that were derived for another generation. Most have the same salt, and a
    // passphrase takes a tenth of a second each time.
    init(
        _ place: MirrorPlace, _ generation: UInt64, hasLater: Bool,
        isLaterUnknown: Bool, laterTime: UInt64? = nil, _ manifestBytes: Data,
        _ point: DatabaseMirror.Point, _ key: DatabaseKey, _ cipher: CipherConfiguration,
        earlier: PageKeys?
    ) async throws {
        self.place = place
        self.generation = generation
        self.point = point
        self.hasLater = hasLater
        self.isLaterUnknown = isLaterUnknown
        self.laterTime = laterTime
        let name = place.names.manifest(of: generation)
        let header = try MirrorObject.header(of: manifestBytes, named: name)
        if let earlier, earlier.salt == header.salt {
            keys = earlier
        } else {
            keys = try await onOwnThread { try PageKeys(key, salt: header.salt, cipher) }
        }
        self.key = place.key(from: keys)
        do {
            manifest = try MirrorObject.open(manifestBytes, named: name, self.key)
        } catch let error as MirrorError where error.isDamaged {
            guard try await place.isOf(key, generation, cipher) else {
                throw MirrorError.wrongKey(name)
            }
            throw error
        }
        guard manifest.object.kind == .manifest, manifest.object.generation == generation else {
            throw MirrorError.damaged(name, "it is another object")
        }
        guard manifest.object.pageSize == cipher.pageSize else {
            throw MirrorError.otherPageSize(Int(manifest.object.pageSize))
        }
    }

    /// Takes note of what the next generation says of this one.
    mutating func expect(_ before: MirrorPlace.Before?) {
        guard let before, before.number == generation else { return }
        if before.end != MirrorObject.noMAC { lastSegment = before.end }
    }

    /// Bytes of all objects, as far as they are known.
    func size() async throws -> Int {
        var log = MirrorLog(place, generation)
        let pages = Int(manifest.object.pageCount) * Int(manifest.object.pageSize)
        return try await log.chain().reduce(pages) { $0 + $1.size }
    }

    // MARK: - Snapshot

    /// Reads the snapshot's parts.
    func readSnapshot(_ visit: @escaping Visitor) async throws {
        let recordName = names.generation(generation)
        guard let record = try await place.read(recordName, .generation, of: generation, key) else {
            throw MirrorError.damaged(recordName, "it is missing")
        }
        let pageCount = UInt64(manifest.object.pageCount)
        var last = record.mac
        var name = names.part(1, of: generation)
        var bytes = pageCount > 0 ? try await place.store.read(name) : nil
        var next: UInt64 = 1
        while next <= pageCount {
            guard let now = bytes else { throw MirrorError.damaged(name, "it is missing") }
            let part = try MirrorObject.header(of: now, named: name)
            let (following, partName, before) = (part.numbers.upperBound + 1, name, last)
            let nextName = names.part(following, of: generation)
            // The store is waited for while the part is checked and written.
            async let later = following <= pageCount ? place.store.read(nextName) : nil
            last = try await onOwnThread { [first = next] in
                let read = try MirrorObject.open(now, named: partName, key)
                guard read.object.kind == .part, read.object.generation == generation,
                    read.object.numbers.lowerBound == first, read.object.previous == before
                else { throw MirrorError.damaged(partName, "it does not follow the one before it") }
                try visit(read)
                return read.mac
            }
            (next, name) = (following, nextName)
            bytes = try await later
        }
        guard last == manifest.object.previous else {
            throw MirrorError.damaged(
                names.manifest(of: generation), "a part of the snapshot is another one")
        }
    }

    // MARK: - Segments

    /// A state that commits have made.
    struct State: Sendable {
        var pageCount: Int
        var time: UInt64
        /// The time of the next state, if there is one.
        var following: UInt64?
    }

    /// Reads the segments up to the point in time, of each the largest that serves; those of a
    /// commit whose end is missing are left out.
    func readSegments(_ visit: @escaping Visitor) async throws -> State {
        var state = State(
            pageCount: Int(manifest.object.pageCount), time: manifest.object.time)
        var log = MirrorLog(place, generation)
        var (next, last) = (UInt64(1), manifest.object.previous)
        // The segments of a commit that is not known to be complete; it may be a large one.
        var held: [(name: String, mac: [UInt8])] = []
        var hasLookedAgain = false
        while true {
            let step: Step
            do {
                step = try await self.step(at: next, after: last, &log)
            } catch let error as MirrorError where error.isDamaged && !hasLookedAgain {
                // It may have been merged and removed since it was listed.
                log = MirrorLog(place, generation)
                hasLookedAgain = true
                continue
            }
            guard case .segment(let entry, let read) = step else {
                guard case .end(let following) = step else { return state }
                guard following != nil || lastSegment == nil || lastSegment == last else {
                    throw MirrorError.damaged(
                        names.segment(next...next, of: generation),
                        "it is missing, and a later generation names it")
                }
                state.following = following ?? laterTime
                return state
            }
            hasLookedAgain = false
            if read.object.beginsCommit { held = [] }
            if read.object.endsCommit {
                for earlier in held {
                    let part = try await place.read(earlier.name, .segment, of: generation, key)
                    guard let part, part.mac == earlier.mac else {
                        throw MirrorError.damaged(earlier.name, "it is another one now, or missing")
                    }
                    try await onOwnThread { try visit(part) }
                }
                try await onOwnThread { try visit(read) }
                held = []
                state.pageCount = Int(read.object.pageCount)
                if !isInitial(read.object) { state.time = read.object.time }
            } else {
                held.append((entry.name, read.mac))
            }
            (next, last) = (entry.numbers.upperBound + 1, read.end)
        }
    }

    /// Whether a segment belongs to the state that the generation begins with.
    private func isInitial(_ object: MirrorObject) -> Bool {
        object.numbers.upperBound <= manifest.object.numbers.upperBound
    }

    private enum Step {
        case segment(MirrorLog.Entry, MirrorObject.Read)
        /// The time of the next one, if it is later than the point.
        case end(before: UInt64?)
    }

    private func step(
        at next: UInt64, after last: [UInt8], _ log: inout MirrorLog
    ) async throws -> Step {
        var damage: MirrorError?
        var later: (entry: MirrorLog.Entry, time: UInt64)?
        for entry in try await log.entries(at: next) {
            do {
                guard let bytes = try await place.store.read(entry.name) else {
                    throw MirrorError.damaged(entry.name, "it is missing")
                }
                let read = try MirrorObject.open(bytes, named: entry.name, key)
                if read.object.kind == .end {
                    guard read.object.numbers == entry.numbers else {
                        throw MirrorError.damaged(entry.name, "it is another object")
                    }
                    // One that begins takes its number before it ends others.
                    guard try await place.generations().last != generation else {
                        throw MirrorError.damaged(entry.name, "no later generation is there")
                    }
                    // The time of the later one decides whether this one was the newest then.
                    guard !isLaterUnknown || !point.includes(read.object.time) else {
                        throw MirrorError.damaged(
                            names.manifest(of: generation + 1),
                            "its time cannot be checked; take an earlier one")
                    }
                    return .end(before: nil)
                }
                guard read.object.kind == .segment, read.object.generation == generation,
                    read.object.numbers == entry.numbers, read.object.previous == last
                else {
                    throw MirrorError.damaged(entry.name, "it does not follow the one before it")
                }
                if isInitial(read.object) || point.includes(read.object.time) {
                    return .segment(entry, read)
                }
                if entry.level == .log { return .end(before: read.object.time) }
                later = later ?? (entry, read.object.time)
            } catch let error as MirrorError where error.isDamaged {
                // The same commits may be in smaller ones.
                damage = damage ?? error
            }
        }
        if let damage { throw damage }
        let following = log.following(next)
        let isEnd: Bool
        if let later {
            // Of those that it was merged of, either all are there or none.
            isEnd = following.map { $0.numbers.lowerBound > later.entry.numbers.upperBound } ?? true
        } else {
            // What nobody can notice is that the newest of all are missing.
            isEnd = following == nil && !hasLater && next > manifest.object.numbers.upperBound
        }
        guard isEnd else {
            throw MirrorError.damaged(
                names.segment(next...next, of: generation), "it is missing, with later ones there")
        }
        return .end(before: later?.time)
    }
}
