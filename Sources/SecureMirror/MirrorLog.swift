internal import Foundation
internal import ObjectStores

/// Finds the segments of a generation's log; the same commits may be in several, of which the
/// largest is taken.
struct MirrorLog {
    private let place: MirrorPlace
    private let generation: UInt64
    private var listed: [MirrorNames.Level: Listed] = [:]

    /// What was listed last of a level.
    private struct Listed {
        var entries: ArraySlice<Entry> = []
        /// The name to list on from.
        var last: String
        var isAtEnd = false
    }

    struct Entry: Sendable {
        let name: String
        let numbers: ClosedRange<UInt64>
        let level: MirrorNames.Level
        let size: Int
    }

    init(_ place: MirrorPlace, _ generation: UInt64) {
        self.place = place
        self.generation = generation
    }

    /// Returns the segments that begin with a number, the largest first.
    ///
    /// - Parameters:
    ///   - number: At least that of the call before.
    ///   - levels: Where to look, in this order.
    /// - Returns: The segments; none at the end, or if one is missing.
    /// - Throws: `MirrorError`.
    mutating func entries(
        at number: UInt64, _ levels: [MirrorNames.Level] = MirrorNames.Level.allCases
    ) async throws -> [Entry] {
        var found: [Entry] = []
        for level in levels {
            try await advance(level, to: number)
            let begins = listed[level]?.entries.prefix { $0.numbers.lowerBound == number }
            found += begins?.reversed() ?? []
        }
        return found
    }

    /// Returns the first segment that begins after a number, as far as it is known: at least if
    /// none of its level begins with the number that was asked for last.
    func following(_ number: UInt64) -> Entry? {
        listed.values.compactMap { listed in
            listed.entries.first { $0.numbers.lowerBound > number }
        }.min { $0.numbers.lowerBound < $1.numbers.lowerBound }
    }

    /// Skips the segments before a number, and lists the next ones if there are no others.
    private mutating func advance(_ level: MirrorNames.Level, to number: UInt64) async throws {
        let prefix = place.names.segments(level, of: generation)
        // Less than the names of all that begin with the number.
        let start = prefix + MirrorNames.text(number)
        var now = listed[level] ?? Listed(last: start)
        now.entries = now.entries.drop { $0.numbers.lowerBound < number }
        if now.last < start { now.last = start }
        while now.entries.isEmpty, !now.isAtEnd {
            let page = try await place.store.list(prefix, after: now.last)
            now.isAtEnd = !page.isTruncated
            now.last = page.objects.last?.name ?? now.last
            now.entries =
                page.objects.compactMap { object in
                    MirrorNames.numbers(in: object.name).map {
                        Entry(
                            name: object.name, numbers: $0, level: level, size: object.countedSize)
                    }
                }[...]
        }
        listed[level] = now
    }

    /// Returns the largest segments that follow each other, from the first one on.
    mutating func chain() async throws -> [Entry] {
        var chain: [Entry] = []
        var next: UInt64 = 1
        while let entry = try await entries(at: next).first {
            chain.append(entry)
            next = entry.numbers.upperBound + 1
        }
        return chain
    }

    /// Returns the last segment, whether or not all before it are there.
    mutating func last() async throws -> Entry? {
        var last: Entry?
        var next: UInt64 = 1
        while let entry = try await entryOrLater(next) {
            (last, next) = (entry, entry.numbers.upperBound + 1)
        }
        return last
    }

    private mutating func entryOrLater(_ number: UInt64) async throws -> Entry? {
        try await entries(at: number).first ?? following(number)
    }
}

extension StoredObject {
    /// Its size, clamped so that sums cannot overflow: a store may report any value.
    var countedSize: Int { min(max(size, 0), 64 << 20) }
}
