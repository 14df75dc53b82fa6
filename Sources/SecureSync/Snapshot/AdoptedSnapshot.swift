internal import Foundation

/// A snapshot whose stable point counts in this file.
struct AdoptedSnapshot: Equatable, Sendable {
    var number: UInt64 { manifest.declaration.number }
    /// Who has signed it.
    var writer: MemberID
    /// The SHA-256 of its manifest.
    var hash: Data
    /// Which of the group's keys seals the manifest.
    var epoch: UInt64
    var manifest: SnapshotManifest

    var pin: SnapshotPin { SnapshotPin(number: number, hash: hash) }
}

extension GroupKeys {
    /// Whether a snapshot that was adopted still counts.
    ///
    /// - Throws: `Outdated`.
    func counts(_ snapshot: AdoptedSnapshot) throws -> Bool {
        try mayDeclare(snapshot.writer, snapshot.number)
            && goesOn(snapshot.pin, epoch: snapshot.epoch)
    }

    /// Whether a snapshot counts by itself: not only because a later one follows it.
    func countsAlone(_ snapshot: AdoptedSnapshot) -> Bool {
        removed[snapshot.writer] == nil || isPinned(snapshot.pin)
    }
}
