internal import Foundation
internal import Logging

/// What a store or a pool holds of its file as long as it is open, so that a second one is noticed.
///
/// Two of them on one file wait for each other's locks, a re-key of one breaks the other, and neither
/// sees what the other has in its memory. Nothing of that is noticed until there is load.
final class FileClaim: Sendable {
    private let identity: FileIdentity

    private final class Holders: @unchecked Sendable {
        // @unchecked: `counts` is only touched under `lock`.
        private let lock = NSLock()
        private var counts: [FileIdentity: Int] = [:]

        /// Whether there was one before.
        func add(_ identity: FileIdentity, unlessThereIsOne: Bool) -> Bool {
            lock.withLock {
                let count = counts[identity] ?? 0
                if count == 0 || !unlessThereIsOne { counts[identity] = count + 1 }
                return count > 0
            }
        }

        func remove(_ identity: FileIdentity) {
            lock.withLock {
                guard let count = counts[identity] else { return }
                counts[identity] = count > 1 ? count - 1 : nil
            }
        }
    }

    private static let holders = Holders()

    /// Claims a file that is there; nil for a store that only reads it.
    ///
    /// - Throws: `.openFailed` code 21 when the configuration refuses a second claim.
    static func of(
        _ path: String, _ configuration: SecureDatabaseConfiguration
    ) throws -> FileClaim? {
        guard !configuration.isReadOnly, let identity = FileIdentity(path) else { return nil }
        let isRefused = configuration.secondInstance == .refused
        let isSecond = holders.add(identity, unlessThereIsOne: isRefused)
        if isSecond {
            let fact = "\"\(path)\" is open in this process already"
            let advice = "share that one, through a queue or as a pool"
            guard !isRefused else {
                throw SecureStorageError.openFailed(
                    code: Int(ResultCode.misuse.rawValue), message: "\(fact); \(advice)")
            }
            if configuration.secondInstance == .reported {
                configuration.logger.warning("\(fact), and now a second time; \(advice)")
            }
        }
        return FileClaim(identity)
    }

    private init(_ identity: FileIdentity) { self.identity = identity }

    deinit { Self.holders.remove(identity) }
}
