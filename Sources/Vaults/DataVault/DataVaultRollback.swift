internal import Foundation
internal import SecureStorage

/// What was found to be earlier than it was at a vault's last unlock.
///
/// The vault's record, in the key store, has the date of the last unlock and a number that each
/// unlock increments there and in the database. A copy of the database that is older than the last
/// unlock has a lower number.
///
/// Not noticed are a copy that was made since then; one that was put back together with the key
/// store, as is possible if that is a directory; and a file that was put together on purpose from
/// pages of several copies, since a page of the engine proves that it is authentic, not how old it
/// is.
public struct DataVaultRollback: OptionSet, Sendable, Hashable {
    /// The bits of the set.
    public let rawValue: UInt8

    /// Creates a set.
    ///
    /// - Parameter rawValue: Its bits.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The machine's clock shows a date that is more than a day before the latest that an unlock
    /// has seen.
    ///
    /// The age of the password is then counted to that date. It is reported until the clock has
    /// passed it, `DataVault.acceptRollback(password:)` is called or the password is changed.
    public static let clock = DataVaultRollback(rawValue: 1)

    /// The vault's database is an older copy, or that of another vault.
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
    private static let tolerance: Double = 86_400

    /// Returns what is earlier than at the last unlock.
    func rollback(_ database: VaultGeneration, at now: Date) -> DataVaultRollback {
        var found: DataVaultRollback = []
        if now.timeIntervalSince1970 < Double(lastDate) - Self.tolerance { found.insert(.clock) }
        if database.number < generation || !database.isOf(incarnation) { found.insert(.database) }
        return found
    }
}

/// The number of unlocks that a vault's database has seen, and whose database it is.
struct VaultGeneration {
    var number: Int64 = 0
    /// nil in a database whose vault was never unlocked.
    var incarnation: Data?

    func isOf(_ incarnation: Data) -> Bool { self.incarnation.map { $0 == incarnation } ?? true }
}

extension VaultRecords {
    /// Notes the date and the generation of an unlock, first in the database, so that a kill or a
    /// power failure in between is not taken for an older copy.
    ///
    /// If the policy does not depend on it, a vault on a full or read-only disk opens all the same.
    func noteUnlock(
        of record: inout VaultRecord, _ values: VaultValues, _ place: VaultPlace
    ) throws {
        let needsNote = record.policy.limitsTries || record.policy.refusesRollback
        guard !values.isReadOnly || needsNote else { return }
        var noted = record
        do {
            noted.generation = try values.advanceGeneration(
                from: record.generation, of: record.incarnation)
            noted.lastDate = max(record.lastDate, today)
            try store(&noted, place)
            record = noted
        } catch {
            guard !needsNote else { throw error }
            try requireStored(record, place)
        }
    }

    /// Notes the date without an unlock, as far as the disk permits.
    func noteDate(in record: inout VaultRecord, _ place: VaultPlace) {
        record.lastDate = max(record.lastDate, today)
        try? store(&record, place)
    }

    /// Seconds since 1970.
    var today: Int64 { Int64(date().timeIntervalSince1970) }
}
