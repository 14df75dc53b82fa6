internal import Foundation
internal import SecureStoragePlatform

/// The names of invalid objects, so that they are not read repeatedly.
///
/// A store may later show another object under a name, so each sync reads small ones again; large
/// ones are read again after an hour, or after an error. Each new chain entry clears the list,
/// since it changes who may sign what.
final class InvalidObjects: Sendable {
    private let names = Locked(Names())
    private static let lifetime = Duration.seconds(3600)
    /// Objects beyond this number are read again.
    private static let most = 10_000
    private static let large = 1 << 20

    private struct Names {
        var since = ContinuousClock.now
        var small: Set<String> = []
        var large: Set<String> = []
    }

    func contains(_ name: String) -> Bool {
        names.withLock { $0.small.contains(name) || $0.large.contains(name) }
    }

    func insert(_ name: String, size: Int) {
        names.withLock { names in
            if size < Self.large {
                if names.small.count < Self.most { names.small.insert(name) }
            } else if names.large.count < Self.most {
                names.large.insert(name)
            }
        }
    }

    /// Forgets the objects that the next sync has to check again.
    ///
    /// - Parameter hasFailed: Whether the last sync failed, since a different object may fix that.
    func forget(hasFailed: Bool = false) {
        names.withLock { names in
            names.small = []
            let age = names.since.duration(to: .now)
            if age > Self.lifetime || hasFailed && age > .seconds(60) { names = Names() }
        }
    }
}
