internal import Foundation
internal import SecureStorage

/// What was found to be earlier than it was at a vault's last unlock.
///
/// The vault's record, in the key store, has the date of the last unlock and a number that each
/// unlock increments there and in the database. A copy of the database that is older than the last
/// unlock has a lower number. A copy that was made since then is not noticed, and neither is one
/// that was put back together with the key store, as is possible if that is a directory: only a
/// keychain or a keyring, which is not copied with the files, makes this complete.
public struct DataVaultRollback: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set.
    ///
    /// - Parameter rawValue: Its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The machine's clock shows a date that is more than a day before the last unlock.
    ///
    /// The age of passwords is then counted to the date of the last unlock.
    public static let clock = DataVaultRollback(rawValue: 1)

    /// The vault's database is an older copy.
    public static let database = DataVaultRollback(rawValue: 2)
}

extension DataVaultRollback: CustomStringConvertible {
    /// One line that says what was noticed.
    public var description: String {
        let parts = [
            (DataVaultRollback.clock, "the machine's clock was set back"),
            (.database, "the vault's database is an older copy"),
        ]
        let found = parts.filter { contains($0.0) }.map(\.1)
        return found.isEmpty ? "nothing was put back" : found.joined(separator: ", and ")
    }
}

extension VaultRecord {
    /// Clocks are adjusted.
    private static let tolerance: Int64 = 86_400

    /// Returns what is earlier than at the last unlock.
    func rollback(_ database: Int64, at now: Date) -> DataVaultRollback {
        var found: DataVaultRollback = []
        if Int64(now.timeIntervalSince1970) < lastDate - Self.tolerance { found.insert(.clock) }
        if database < generation { found.insert(.database) }
        return found
    }
}

extension VaultRecords {
    /// Notes the date and the generation of an unlock, first in the database, so that a kill or a
    /// power failure in between is not taken for an older copy.
    ///
    /// If tries have no consequences, a vault on a full or read-only disk opens all the same.
    func noteUnlock(
        of record: inout VaultRecord, _ values: VaultValues, _ place: VaultPlace
    ) throws {
        guard !values.isReadOnly else { return }
        do {
            record.generation = max(record.generation, try values.generation()) + 1
            record.lastDate = Int64(date().timeIntervalSince1970)
            try values.setGeneration(record.generation)
            try store(&record, place)
        } catch {
            guard !record.policy.limitsTries else { throw error }
            try requireStored(record, place)
        }
    }
}
