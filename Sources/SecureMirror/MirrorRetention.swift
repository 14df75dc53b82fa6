internal import Crypto
internal import Foundation
internal import ObjectStores

/// Removes generations that no state is restored from any longer, and thins out those that only
/// states between two of the hours are restored from.
///
/// Their ends stay, some 200 bytes each: a mirror that was stopped for years, and still writes to
/// such a generation, must find one.
struct MirrorRetention: Sendable {
    let place: MirrorPlace
    /// What generations are ended with.
    let end: MirrorObject
    let key: SymmetricKey

    init(_ place: MirrorPlace, before current: MirrorGeneration) async {
        self.place = place
        key = current.key
        end = await current.end
    }

    /// More than begin between two calls, so that what longer settings have left goes as well.
    private static let thinnedAtOnce = 2

    /// Removes the oldest generation that ended before the settings' limit, and at most two of
    /// those after which another one of the same hour continues.
    ///
    /// Few at a time: if a clock or an object is wrong, little is lost until somebody notices.
    ///
    /// - Parameters:
    ///   - settings: How long generations are kept.
    ///   - now: The time that decides what is removed.
    /// - Throws: `MirrorError`.
    func remove(_ settings: DatabaseMirror.Settings, at now: UInt64) async throws {
        var following: UInt64?
        var ended: [UInt64] = []
        var later: MirrorObject?
        var surplus: [MirrorObject] = []
        let keepsPoints = max(settings.keepsPoints, .seconds(60))
        for number in try await finishThinning().reversed() {
            if let following, settings.keepsHours.isOver(from: following, to: now) {
                ended.insert(number, at: 0)
            }
            switch try await place.completeness(of: number) {
            case .never: continue
            // A damaged one proves nothing, and is removed when the next one says so.
            case .unknown: later = nil
            case .complete(let manifest, let bytes):
                following = manifest.time
                let name = place.names.manifest(of: number)
                let sound = try? MirrorObject.open(bytes, named: name, key).object
                if let sound, let later, sound.hour == later.hour,
                    keepsPoints.isOver(from: later.time, to: now)
                {
                    surplus.insert(sound, at: 0)
                }
                later = sound
            }
        }
        // Its own last object is the second witness. None is removed before an older one: a gap
        // without a mark is what shows that one was lost.
        if let oldest = ended.first,
            settings.keepsHours.isOver(from: try await lastTime(of: oldest), to: now)
        {
            try await remove(oldest)
            surplus.removeAll { $0.generation == oldest }
        }
        for manifest in surplus.prefix(Self.thinnedAtOnce) { try await thin(manifest) }
    }

    /// Returns the time of a generation's last object; 0 if none can be read.
    private func lastTime(of number: UInt64) async throws -> UInt64 {
        var log = MirrorLog(place, number)
        guard let last = try await log.last(), let bytes = try await place.store.read(last.name)
        else { return 0 }
        return (try? MirrorObject.header(of: bytes, named: last.name).time) ?? 0
    }

    /// Removes the generations before one that have other keys than the current one.
    func removeOtherKeys(before current: UInt64) async throws {
        for number in try await place.generations() where number < current {
            let name = place.names.manifest(of: number)
            if try await place.sound(name, .manifest, of: number, key) != nil { continue }
            try await remove(number)
        }
    }

    /// Removes a generation, but its ends.
    ///
    /// First the manifest, so that nobody restores it; last the beginning, so that a kill in
    /// between is made up for the next time.
    ///
    /// - Parameter number: The generation.
    /// - Throws: `MirrorError`.
    func remove(_ number: UInt64) async throws {
        let manifest = place.names.manifest(of: number)
        var kept: Set<String> = []
        if case .never = try await place.end(number, with: end) {
            kept.insert(manifest)
        } else {
            try await place.store.remove([manifest])
        }
        var log = MirrorLog(place, number)
        if let last = try await log.last(), try await place.isEnd(last) { kept.insert(last.name) }
        while true {
            let names = try await place.store.list(place.names.everything(of: number), after: nil)
                .objects.map(\.name).filter { !kept.contains($0) }
            if names.isEmpty { break }
            try await place.store.remove(names)
        }
        try await place.store.remove([place.names.generation(number)])
    }
}

extension MirrorObject {
    /// Of each the last state is kept longest.
    fileprivate var hour: UInt64 { time / 3_600_000 }
}

extension Duration {
    /// Whether more than this has passed between two times in milliseconds.
    func isOver(from start: UInt64, to now: UInt64) -> Bool {
        (Double(now) - Double(start)) / 1000 > self / .seconds(1)
    }
}
