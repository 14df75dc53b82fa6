internal import Crypto
internal import Foundation

/// Removes generations that no state is restored from any more.
///
/// Their ends stay, some 200 bytes each: a mirror that was stopped for years, and still writes to
/// such a generation, must find one.
struct MirrorRetention: Sendable {
    let place: MirrorPlace
    /// What generations are ended with.
    let end: MirrorObject

    /// Removes the generations that ended before the settings' limit.
    func remove(_ settings: DatabaseMirror.Settings) async throws {
        var isRemoving = false
        for number in try await place.generations().reversed() {
            if isRemoving {
                try await remove(number)
            } else if let manifest = try await place.manifest(of: number) {
                isRemoving = place.isOver(settings.keepsHours, since: manifest.object)
            }
        }
    }

    /// Removes the generations before one that have other keys.
    func removeOtherKeys(
        than key: SymmetricKey, before current: UInt64
    ) async throws {
        for number in try await place.generations() where number < current {
            let name = place.names.manifest(of: number)
            if let manifest = try await place.manifest(of: number),
                (try? MirrorObject.open(manifest.bytes, named: name, key)) != nil
            {
                continue
            }
            try await remove(number)
        }
    }

    /// Removes a generation, but its ends.
    ///
    /// First the manifest, so that nobody restores it; last the beginning, so that a kill in
    /// between is made up for the next time.
    ///
    /// - Parameter number: The generation.
    /// - Throws: `SyncError`.
    func remove(_ number: UInt64) async throws {
        let manifest = place.names.manifest(of: number)
        var kept: Set<String> = [manifest]
        if try await place.end(number, with: end) {
            try await place.store.remove([manifest])
        }
        var log = MirrorLog(place, number)
        if let last = try await log.last(), try await place.isEnd(last) { kept.insert(last.name) }
        while true {
            let names = try await place.store.list(place.names.everything(of: number), after: nil)
                .map(\.name).filter { !kept.contains($0) }
            if names.isEmpty { break }
            try await place.store.remove(names)
        }
        try await place.store.remove([place.names.generation(number)])
    }
}
