internal import Foundation

/// A snapshot whose stable point applies to this file.
struct AdoptedSnapshot: Equatable, Sendable {
    var number: UInt64 { manifest.declaration.number }
    /// The member that signed it.
    var writer: MemberID
    /// The SHA-256 of its manifest.
    var hash: Data
    /// The epoch of the key that seals the manifest.
    var epoch: UInt64
    var manifest: SnapshotManifest

    var pin: SnapshotPin { SnapshotPin(number: number, hash: hash) }
}

extension GroupKeys {
    /// Whether an adopted snapshot still counts: no removal has made it invalid.
    ///
    /// - Throws: `Outdated`.
    func counts(_ snapshot: AdoptedSnapshot) throws -> Bool {
        let mayDeclare = try mayDeclare(snapshot.writer, snapshot.number)
        return (mayDeclare || !wasRemoved(snapshot.writer))
            && agreesWithPins(snapshot.pin, epoch: snapshot.epoch)
    }

    /// Whether a snapshot counts on its own, not just because a later one follows it.
    func countsAlone(_ snapshot: AdoptedSnapshot) -> Bool {
        removed[snapshot.writer] == nil || isNamed(snapshot.pin, by: snapshot.writer)
    }
}
