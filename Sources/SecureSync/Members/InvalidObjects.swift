internal import Foundation
internal import SecureStoragePlatform

/// The names of objects that count for nobody, so that none of them is read again and again.
///
/// A store may show another object under a name, so small ones are read again by each sync; large
/// ones after an hour, or after an error. Who may sign what changes with the chain, so these are
/// forgotten with each of its entries.
final class InvalidObjects: Sendable {
    private let names = Locked(Names())
    private static let lifetime = Duration.seconds(3600)
    /// More than that are read again.
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

    /// Forgets what the next sync has to look at.
    ///
    /// - Parameter hasFailed: Whether the last one has, and another object may mend that.
    func forget(hasFailed: Bool = false) {
        names.withLock { names in
            names.small = []
            let age = names.since.duration(to: .now)
            if age > Self.lifetime || hasFailed && age > .seconds(60) { names = Names() }
        }
    }
}
