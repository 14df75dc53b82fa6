internal import Crypto
internal import Foundation
internal import ObjectStores

/// Generations that were thinned out.
///
/// A manifest names the generation before it, so that none can be lost without a trace. One that
/// is removed on purpose leaves a mark, which names in its turn the one before.
extension MirrorPlace {
    /// The generation before another one.
    struct Before {
        var number: UInt64
        /// The MAC that an object after its last segment would name.
        var end: [UInt8]
        /// Those between the two, the newest first, whose marks were read.
        var thinned: [UInt64] = []
    }

    /// Returns what a manifest says of the generation before it, past those that were thinned out.
    ///
    /// - Parameters:
    ///   - manifest: The manifest, whose MAC was checked.
    ///   - limit: The generation whose own mark is not looked for, nor that of any before it.
    ///   - key: The key of the manifest.
    /// - Returns: The generation; if a mark is missing or damaged, that which it should stand for.
    /// - Throws: The store's errors.
    func before(
        _ manifest: MirrorObject, downTo limit: UInt64, _ key: SymmetricKey
    ) async throws -> Before {
        var before = Before(number: manifest.follows, end: manifest.merged)
        while before.number > limit,
            let mark = try await sound(
                names.thinned(before.number), .thinned, of: before.number, key)?.object,
            mark.follows < before.number
        {
            before.thinned.append(before.number)
            (before.number, before.end) = (mark.follows, mark.merged)
        }
        return before
    }

    /// Whether a generation has a mark, so that what is left of it is about to go.
    func isThinned(_ number: UInt64, _ key: SymmetricKey) async throws -> Bool {
        try await sound(names.thinned(number), .thinned, of: number, key) != nil
    }
}

extension MirrorRetention {
    /// Removes a generation that later generations continue from, and leaves a mark in its place.
    ///
    /// - Parameter manifest: Its manifest, of the current key.
    /// - Throws: `MirrorError`.
    func thin(_ manifest: MirrorObject) async throws {
        let number = manifest.generation
        let before = try await place.before(manifest, downTo: 0, key)
        var mark = manifest
        mark.kind = .thinned
        (mark.follows, mark.merged) = (before.number, before.end)
        _ = try await place.store.create(place.names.thinned(number), mark.sealed(Data(), key))
        // The name may have had something else.
        guard try await place.isThinned(number, key) else { return }
        try await remove(number)
        // The new mark stands for these as well.
        if !before.thinned.isEmpty {
            try await place.store.remove(before.thinned.map(place.names.thinned))
        }
    }

    /// Finishes what a kill has interrupted, and removes the marks that no generation names.
    ///
    /// - Returns: The generations that are left.
    /// - Throws: `MirrorError`.
    func finishThinning() async throws -> [UInt64] {
        var numbers = try await place.generations()
        let marks = try await place.store.listAll(place.names.thinned)
            .compactMap { MirrorNames.number(in: $0.name) }
        for number in Set(marks).intersection(numbers) where number != numbers.last {
            guard try await place.isThinned(number, key) else { continue }
            try await remove(number)
            numbers.removeAll { $0 == number }
        }
        // What is before the oldest was removed from the oldest on.
        let old = marks.filter { $0 < numbers.first ?? 0 }
        if !old.isEmpty { try await place.store.remove(old.map(place.names.thinned)) }
        return numbers
    }
}
