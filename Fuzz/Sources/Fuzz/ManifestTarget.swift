import Foundation
import SecureKeys

@testable import SecureSync

/// Reads an input as what the manifest of a snapshot says, and follows it as members do.
struct ManifestTarget: FuzzTarget {
    private static let number: UInt64 = 9
    private let key: DataEncryptionKey

    init() throws { key = try BatchTarget.key() }

    func run(_ input: Data) throws {
        let manifest = try allowing(CBORError.self) {
            try SnapshotManifest(decoding: [UInt8](input), number: Self.number)
        }
        guard let manifest else { return }
        precondition(manifest.encoded().elementsEqual(input), "a manifest has two forms")
        try seal(manifest)
        try enter(manifest)
        try goOn(manifest)
    }

    private func seal(_ manifest: SnapshotManifest) throws {
        let sealed = try SealedObject.seal(
            manifest.encoded(), SealedTarget.header(.snapshot), key: key
        ) { _ in Data(count: 64) }
        let opened = try SealedObject(reading: sealed.bytes, .snapshot).open(key: key)
        let read = try SnapshotManifest(decoding: opened, number: Self.number)
        precondition(read == manifest, "a seal loses something")
    }

    private func enter(_ manifest: SnapshotManifest) throws {
        let new = Seeds.members[2]
        let isKnown = manifest.logs[new] != nil
        let next = manifest.beginningLog(of: new, at: 5)
        precondition((next == nil) == isKnown, "a member enters twice, or not at all")
        guard let next else { return }
        precondition(next.declaration.isOpen(new), "a log does not begin")
        let read = try SnapshotManifest(decoding: next.encoded(), number: Self.number + 1)
        precondition(read == next, "what a new member writes is read otherwise")
    }

    /// Each member writes the next one, in knowledge of all that this one names.
    private func goOn(_ manifest: SnapshotManifest) throws {
        let declaration = manifest.declaration
        var published: [MemberID: Declaration.Published] = [:]
        for (member, log) in manifest.logs {
            published[member] = .init(
                positions: log.published, adopted: log.published[.none, default: 0])
        }
        for member in manifest.logs.keys {
            let next = declaration.next(
                by: member, positions: declaration.positions, published: published,
                lowerBound: { member, number in
                    manifest.logs[member]?.lowerBounds.last { $0.number <= number }?.time ?? 0
                }, silent: Set(manifest.logs.keys))
            precondition(
                (next != nil) == declaration.isOpen(member), "a closed log goes on, or an open not")
            guard let next else { continue }
            precondition(
                next.stablePoint.time >= declaration.stablePoint.time, "the stablePoint sinks")
            precondition(
                next.stablePoint.positions.cover(declaration.stablePoint.positions),
                "the stablePoint sinks in a log")
            var following = manifest
            following.declaration = next
            let read = try SnapshotManifest(
                decoding: following.encoded(), number: Self.number + 1)
            precondition(read == following, "what a member writes is read otherwise")
        }
    }
}
