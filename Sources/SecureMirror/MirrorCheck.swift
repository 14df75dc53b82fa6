internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureStorage
internal import SecureStoragePlatform

/// Checks all objects of a mirror.
struct MirrorCheck {
    private let place: MirrorPlace
    private let key: DatabaseKey
    private let cipher: CipherConfiguration
    private let progress: @Sendable (FileProgress) throws -> Void
    private var found = DatabaseMirror.Verification()
    private var (bytes, size) = (0, 0)
    /// The generations whose manifests are damaged or missing.
    private var unknown: [UInt64: MirrorError] = [:]

    init(
        place: MirrorPlace, _ key: DatabaseKey, _ cipher: CipherConfiguration,
        _ progress: @escaping @Sendable (FileProgress) throws -> Void
    ) {
        self.place = place
        self.key = key
        self.cipher = cipher
        self.progress = progress
    }

    mutating func run() async throws -> DatabaseMirror.Verification {
        var manifests: [(generation: UInt64, bytes: Data)] = []
        for number in try await place.generations() {
            switch try await place.completeness(of: number) {
            case .never: continue
            case .unknown(let error): unknown[number] = error
            case .complete(_, let bytes):
                manifests.append((number, bytes))
                size += try await place.store.listAll(place.names.everything(of: number))
                    .reduce(0) { $0 + $1.countedSize }
            }
        }
        guard !manifests.isEmpty || !unknown.isEmpty else {
            throw MirrorError.noMirror(place.names.mirror)
        }
        for chain in try await chains(manifests) {
            do {
                try await check(chain)
            } catch let error as MirrorError where error.isFinding {
                found.problems.append(error)
            }
        }
        found.problems.insert(contentsOf: unknown.sorted { $0.key < $1.key }.map(\.value), at: 0)
        return found
    }

    /// Returns the generations of the key, each with what the next one says of it.
    private mutating func chains(
        _ manifests: [(generation: UInt64, bytes: Data)]
    ) async throws -> [MirrorChain] {
        var chains: [MirrorChain] = []
        var previous: UInt64 = 0
        // Those of other keys since the last one of this key.
        var others: [UInt64] = []
        for (generation, bytes) in manifests {
            do {
                let chain = try await MirrorChain(
                    place, generation, hasLater: generation != manifests.last?.generation,
                    isLaterUnknown: false, bytes, .latest, key, cipher, earlier: chains.last?.keys)
                let before = try await place.before(
                    chain.manifest.object, downTo: previous, chain.key)
                note(before, after: previous)
                if before.number == previous, before.end != MirrorObject.noMAC {
                    // Whoever stored this one has read it with the same key.
                    if !others.isEmpty { found.problems.append(changed(others.removeLast())) }
                    if chains.last?.generation == previous {
                        chains[chains.count - 1].expect(before)
                    }
                }
                found.uncheckedGenerations += others.map { Int(clamping: $0) }
                others = []
                chains.append(chain)
            } catch MirrorError.wrongKey {
                others.append(generation)
            } catch let error as MirrorError where error.isFinding {
                found.problems.append(error)
            }
            previous = generation
        }
        // They are of a later key, or this one is wrong.
        let wrong = others.map { MirrorError.wrongKey(place.names.manifest(of: $0)) }
        if chains.isEmpty, found.isSound, unknown.isEmpty, let error = wrong.last { throw error }
        found.problems += wrong
        return chains
    }

    private func changed(_ generation: UInt64) -> MirrorError {
        .damaged(
            place.names.manifest(of: generation),
            "it was changed, or replaced by one of another key")
    }

    private mutating func check(_ chain: MirrorChain) async throws {
        let check = try chain.keys.check(cipher)
        let read = Locked(Read(size: size, bytes: bytes))
        let visit: MirrorChain.Visitor = { [progress] object in
            try read.withLock { try $0.add(object, check, progress) }
        }
        // The beginning and the manifest.
        found.objectCount += 2
        do {
            try await chain.readSnapshot(visit)
            _ = try await chain.readSegments(visit)
            try await checkOthers(chain, visit, except: read.withLock { $0.segments })
            if let problem = try await missingSegment(of: chain.generation) {
                found.problems.append(problem)
            }
        } catch let error as MirrorError where error.isFinding {
            found.problems.append(error)
        }
        let state = read.withLock { $0 }
        found.objectCount += state.objectCount
        found.pageCount += state.pageCount
        bytes = state.bytes
        found.problems += state.damagedPages.map { page in
            .damaged(
                place.names.everything(of: chain.generation),
                "page \(page) is not as the database has written it")
        }
    }

    /// Notes which generations were thinned out, and whether one was lost.
    private mutating func note(_ before: MirrorPlace.Before, after generation: UInt64) {
        // A kill may have left something of them.
        for number in before.thinned { unknown[number] = nil }
        found.objectCount += before.thinned.count
        guard generation > 0, before.number > generation, unknown[before.number] == nil
        else { return }
        found.problems.append(
            .damaged(
                place.names.manifest(of: before.number),
                "it is missing, and a later one names it"))
    }

    /// Checks the segments that a restore of the newest state does not need.
    private mutating func checkOthers(
        _ chain: MirrorChain, _ visit: @escaping MirrorChain.Visitor,
        except read: Set<ClosedRange<UInt64>>
    ) async throws {
        // What follows a segment names its MAC.
        var ends: [UInt64: [UInt8]] = [0: chain.manifest.object.previous]
        for level in MirrorNames.Level.allCases.reversed() {
            let prefix = place.names.segments(level, of: chain.generation)
            for object in try await place.store.listAll(prefix) {
                guard let numbers = MirrorNames.numbers(in: object.name) else { continue }
                do {
                    guard let bytes = try await place.store.read(object.name) else { continue }
                    let kind = try MirrorObject.header(of: bytes, named: object.name).kind
                    if kind == .end { continue }
                    let segment = try MirrorObject.open(bytes, named: object.name, chain.key)
                    let before = ends[numbers.lowerBound - 1]
                    guard kind == .segment, segment.object.generation == chain.generation,
                        segment.object.numbers == numbers,
                        before == nil || before == segment.object.previous
                    else {
                        throw MirrorError.damaged(
                            object.name, "it does not follow the one before it")
                    }
                    ends[numbers.upperBound] = segment.end
                    if !read.contains(numbers) { try await onOwnThread { try visit(segment) } }
                } catch let error as MirrorError where error.isFinding {
                    found.problems.append(error)
                }
            }
        }
    }

    /// Finds a segment that is missing although a larger one has the same commits: those that this
    /// one was merged of are all there or none, and the points in time between are in them only.
    private func missingSegment(of generation: UInt64) async throws -> MirrorError? {
        for attempt in 1...3 {
            guard let name = try await gap(in: generation) else { return nil }
            guard attempt < 3 else {
                return .damaged(name, "it is missing, with others of the same time there")
            }
            // They may be in the middle of being removed, since they are too old.
            try await Task.sleep(for: .milliseconds(200))
        }
        return nil
    }

    private func gap(in generation: UInt64) async throws -> String? {
        var segments: [MirrorNames.Level: [ClosedRange<UInt64>]] = [:]
        for level in MirrorNames.Level.allCases {
            let objects = try await place.store.listAll(place.names.segments(level, of: generation))
            segments[level] = objects.compactMap { MirrorNames.numbers(in: $0.name) }
                .sorted { $0.lowerBound < $1.lowerBound }
        }
        let (hours, minutes) = (segments[.hours] ?? [], segments[.minutes] ?? [])
        for range in hours + minutes {
            let inside = (segments[.log] ?? []).filter { range.contains($0.lowerBound) }
            // An hour's minutes are removed before what they were merged of.
            guard !inside.isEmpty || range.isAnyInside(minutes) else { continue }
            var next = range.lowerBound
            for segment in inside where segment.lowerBound <= next {
                next = max(next, segment.upperBound + 1)
            }
            if next <= range.upperBound {
                return place.names.segment(next...next, of: generation)
            }
        }
        return nil
    }

    /// What was read of a generation.
    private struct Read {
        let size: Int
        var bytes: Int
        var objectCount = 0
        var pageCount = 0
        var segments: Set<ClosedRange<UInt64>> = []
        /// At most ten.
        var damagedPages: [UInt32] = []

        mutating func add(
            _ read: MirrorObject.Read, _ check: PageCheck,
            _ progress: (FileProgress) throws -> Void
        ) throws {
            objectCount += 1
            if read.object.kind == .segment { segments.insert(read.object.numbers) }
            read.forEachPage { page, content in
                pageCount += 1
                if damagedPages.count < 10, !check.isSound(content, number: page) {
                    damagedPages.append(page)
                }
            }
            bytes += read.content.count
            try progress(FileProgress(bytes, of: size))
        }
    }
}

extension ClosedRange<UInt64> {
    /// Whether this one contains any of the others, itself left out.
    fileprivate func isAnyInside(_ others: [Self]) -> Bool {
        others.contains { $0 != self && contains($0.lowerBound) && contains($0.upperBound) }
    }
}
