internal import Crypto
internal import Foundation
internal import ObjectStores
internal import SecureStoragePlatform

/// Merges the segments of a generation, so that a restore reads few.
///
/// First those of a minute, then those of an hour; of each page the newest version stays. It needs
/// the key, like the mirror itself: without it nobody could prove which version of a page is the
/// newest. A merged segment is stored beside those that it was made of; it names the MAC of the one
/// before the first, and that of the last, so the chain holds whichever are read.
struct MirrorCompaction: Sendable {
    let generation: UInt64
    private let place: MirrorPlace
    private let key: SymmetricKey
    /// The last segment that belongs to the state that the generation begins with.
    private var initial: UInt64?
    /// The last number that needs no further look, per level.
    private var done: [MirrorNames.Level: UInt64] = [:]
    /// The last number whose minutes and single segments were removed.
    private var trimmed: UInt64 = 0

    init(_ place: MirrorPlace, _ generation: UInt64, _ key: SymmetricKey) {
        self.place = place
        self.generation = generation
        self.key = key
    }

    // MARK: - Merging

    mutating func merge() async throws {
        initial =
            if let initial { initial } else {
                try await place.read(
                    place.names.manifest(of: generation), .manifest, of: generation, key)?
                    .object.numbers.upperBound
            }
        try await merge([.log], into: .minutes, each: 60_000)
        try await merge([.minutes, .log], into: .hours, each: 3_600_000)
    }

    /// Merges segments of equal periods, given in milliseconds; the period of now is not over.
    private mutating func merge(
        _ sources: [MirrorNames.Level], into level: MirrorNames.Level, each period: UInt64
    ) async throws {
        var log = MirrorLog(place, generation)
        if done[level] == nil {
            let prefix = place.names.segments(level, of: generation)
            let merged = try await place.store.listAll(prefix)
            done[level] = merged.compactMap { MirrorNames.numbers(in: $0.name)?.upperBound }.max()
        }
        var next = (done[level] ?? 0) + 1
        let now = place.clock.now / period
        var merging: Merging?
        while let entry = try await log.entries(at: next, sources).first,
            let bytes = try await place.store.read(entry.name),
            try MirrorObject.header(of: bytes, named: entry.name).kind == .segment
        {
            let read = try MirrorObject.open(bytes, named: entry.name, key)
            guard read.object.generation == generation, read.object.numbers == entry.numbers else {
                throw MirrorError.damaged(entry.name, "it is another object")
            }
            guard read.object.time / period != now else { break }
            if let before = merging {
                guard before.end == read.object.previous else {
                    throw MirrorError.damaged(entry.name, "it does not follow the one before it")
                }
                if before.last.time / period != read.object.time / period || !read.isWhole
                    || !before.hasRoom(for: read)
                    || before.last.numbers.upperBound == initial
                {
                    try await store(before, level)
                    merging = nil
                }
            }
            if read.isWhole {
                if merging == nil { merging = Merging(read.object) }
                merging?.add(read)
            } else {
                done[level] = entry.numbers.upperBound
            }
            next = entry.numbers.upperBound + 1
        }
        if let merging { try await store(merging, level) }
    }

    private mutating func store(_ merging: Merging, _ level: MirrorNames.Level) async throws {
        let object = merging.object
        if merging.count > 1 {
            // Another mirror of this name may have done it.
            _ = try await place.store.create(
                place.names.segment(object.numbers, level, of: generation),
                object.sealed(merging.content(of: object.pages), key))
        }
        done[level] = object.numbers.upperBound
    }

    /// Segments that are merged.
    private struct Merging {
        private(set) var last: MirrorObject
        private(set) var end: [UInt8] = []
        private(set) var count = 0
        private let first: MirrorObject
        private let limit: Int
        /// The newest version of each page, and where it is in `bytes`.
        private var places: [UInt32: Int] = [:]
        private var bytes = Data()

        init(_ first: MirrorObject) {
            (self.first, last) = (first, first)
            limit = MirrorGeneration.pagesPerObject(Int(first.pageSize))
        }

        func hasRoom(for read: MirrorObject.Read) -> Bool {
            places.count + read.object.pages.count { places[$0] == nil } <= limit
        }

        mutating func add(_ read: MirrorObject.Read) {
            read.forEachPage { page, content in
                if let place = places[page] {
                    bytes.replaceSubrange(place..<(place + content.count), with: content)
                } else {
                    places[page] = bytes.count
                    bytes.append(content)
                }
            }
            let latest = max(last.time, read.object.time)
            (last, end) = (read.object, read.end)
            last.time = latest
            count += 1
        }

        var object: MirrorObject {
            var object = last
            object.numbers = first.numbers.lowerBound...last.numbers.upperBound
            object.beginsCommit = true
            object.previous = first.previous
            object.merged = end
            object.pages = places.keys.filter { $0 <= last.pageCount }.sorted()
            return object
        }

        func content(of pages: [UInt32]) -> Data {
            var content = Data(capacity: pages.count * Int(first.pageSize))
            for page in pages {
                guard let place = places[page] else { continue }
                content += bytes[place..<(place + Int(first.pageSize))]
            }
            return content
        }
    }

    // MARK: - Trimming

    /// Removes the segments that hours stand for and that are older than points in time are kept,
    /// at least a minute.
    ///
    /// - Parameters:
    ///   - settings: How long points in time are kept.
    ///   - now: The time that decides what is removed.
    /// - Throws: `MirrorError`.
    mutating func trim(_ settings: DatabaseMirror.Settings, at now: UInt64) async throws {
        let hours = try await place.store.listAll(
            place.names.segments(.hours, of: generation),
            after: place.names.segment(trimmed...trimmed, .hours, of: generation))
        // Those of the last hour stay: by the last segment of all, an older mirror of this name
        // notices that it is one.
        for hour in hours.dropLast() {
            guard let numbers = MirrorNames.numbers(in: hour.name), numbers.lowerBound > trimmed
            else { continue }
            var smaller: [String] = []
            for level in [MirrorNames.Level.minutes, .log] {
                smaller += try await names(level, within: numbers)
            }
            if !smaller.isEmpty {
                guard let bytes = try await place.store.read(hour.name) else { continue }
                let read = try MirrorObject.open(bytes, named: hour.name, key)
                let limit = max(settings.keepsPoints, .seconds(60))
                guard limit.isOver(from: read.object.time, to: now) else { return }
                try await place.store.remove(smaller)
            }
            trimmed = numbers.upperBound
        }
    }

    private func names(
        _ level: MirrorNames.Level, within numbers: ClosedRange<UInt64>
    ) async throws -> [String] {
        var names: [String] = []
        var after =
            place.names.segments(level, of: generation) + MirrorNames.text(numbers.lowerBound)
        while true {
            let page = try await place.store.list(
                place.names.segments(level, of: generation), after: after)
            for object in page.objects {
                guard let found = MirrorNames.numbers(in: object.name) else { continue }
                guard found.lowerBound <= numbers.upperBound else { return names }
                if found.upperBound <= numbers.upperBound { names.append(object.name) }
            }
            guard page.isTruncated, let last = page.objects.last else { return names }
            after = last.name
        }
    }
}
