internal import Logging
internal import SecureStoragePlatform

/// A store's or pool's claim on its file while it is open, to detect a second one.
///
/// Two of them on one file wait for each other's locks, a rekey by one breaks the other, and
/// neither sees the other's in-memory state. None of this shows until there is load.
final class FileClaim: Sendable {
    private let kind: Kind
    private let identity: FileIdentity

    /// How the file is claimed.
    private enum Kind {
        case writing, reading
        /// Exclusively, to move or remove the file.
        case alone
    }

    private struct Holders {
        private var counts: [FileIdentity: [Kind: Int]] = [:]

        /// Adds a claim unless it is refused, and returns the earlier claims.
        mutating func add(
            _ kind: Kind, to identity: FileIdentity, unless isRefused: ([Kind: Int]) -> Bool
        ) -> [Kind: Int] {
            let before = counts[identity] ?? [:]
            if !isRefused(before) { counts[identity, default: [:]][kind, default: 0] += 1 }
            return before
        }

        mutating func remove(_ kind: Kind, from identity: FileIdentity) {
            guard var kinds = counts[identity], let count = kinds[kind] else { return }
            kinds[kind] = count > 1 ? count - 1 : nil
            counts[identity] = kinds.isEmpty ? nil : kinds
        }
    }

    private static let holders = Locked(Holders())

    /// Claims a file for a store or pool; nil if the file does not exist.
    ///
    /// - Throws: `.openFailed` code `.misuse` if the configuration refuses a second store that
    ///   writes; code `.busy` while the file is being moved or removed.
    static func of(
        _ path: String, _ configuration: SecureDatabaseConfiguration
    ) throws -> FileClaim? {
        guard let identity = FileIdentity(path) else { return nil }
        let kind = configuration.isReadOnly ? Kind.reading : .writing
        let refusesSecond = kind == .writing && configuration.secondInstance == .refused
        let others = holders.withLock { holders in
            holders.add(kind, to: identity) {
                $0[.alone] != nil || refusesSecond && $0[.writing] != nil
            }
        }
        guard others[.alone] == nil else {
            throw SecureStorageError.openFailed(
                code: ResultCode.busy.rawValue,
                message: "\"\(path)\" is being moved, removed or replaced; try again")
        }
        if kind == .writing, others[.writing] != nil {
            let fact = "\"\(path)\" is already open in this process"
            let advice = "share that instance through a queue or a pool"
            guard !refusesSecond else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.misuse.rawValue, message: "\(fact); \(advice)")
            }
            if configuration.secondInstance == .reported {
                configuration.logger.warning("\(fact), and is now opened a second time; \(advice)")
            }
        }
        return FileClaim(kind, identity)
    }

    /// Claims a file exclusively; nil if the file does not exist or a store of this process has it
    /// open.
    static func alone(_ path: String) -> FileClaim? {
        guard let identity = FileIdentity(path),
            holders.withLock({ $0.add(.alone, to: identity, unless: { !$0.isEmpty }) }).isEmpty
        else { return nil }
        return FileClaim(.alone, identity)
    }

    private init(_ kind: Kind, _ identity: FileIdentity) {
        self.kind = kind
        self.identity = identity
    }

    deinit { Self.holders.withLock { $0.remove(kind, from: identity) } }
}
