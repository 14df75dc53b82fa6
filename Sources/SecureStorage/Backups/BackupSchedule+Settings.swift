public import Foundation

extension BackupSchedule {
    /// How often a database is copied, and which copies are kept.
    public struct Settings: Sendable, Hashable {
        /// The time from one copy to the next, above zero; 1 hour.
        public var every: Duration = .seconds(3600)

        /// Of how many hours the last copy is kept, at least 0; 24.
        ///
        /// Hours, days and weeks (from Monday on) are those of UTC in which a copy was made: a
        /// service that did not run for a month keeps the copies of the hours before.
        public var keepsHourly = 24

        /// Of how many days the last copy is kept, at least 0; 7.
        public var keepsDaily = 7

        /// Of how many weeks the last copy is kept, at least 0; 4.
        public var keepsWeekly = 4

        /// Whether each copy is checked before it gets its name, as by
        /// ``SecureDatabaseStore/verifyIntegrity(progress:)``; true.
        ///
        /// The check takes about as long as the copy. The names of copies that were not checked end
        /// with `-unverified.db`.
        public var verifies = true

        /// Creates the settings that are named at each property.
        public init() {}
    }

    /// A copy in the folder of a schedule.
    public struct Backup: Sendable, Hashable {
        /// The location of the copy, a database that the key of the original opens.
        public let url: URL
        /// When the copy was begun, to the millisecond: what was committed before is in it.
        public let date: Date
        /// Whether the copy was checked before it got its name.
        public let isVerified: Bool

        /// Creates a copy's entry, for tests of apps.
        ///
        /// - Parameters:
        ///   - url: The location of the copy.
        ///   - date: When it was begun.
        ///   - isVerified: Whether it was checked.
        public init(url: URL, date: Date, isVerified: Bool) {
            self.url = url
            self.date = date
            self.isVerified = isVerified
        }
    }
}

extension BackupSchedule.Settings {
    /// Refuses values that no schedule can follow.
    func validate() throws {
        guard every > .zero else {
            throw SecureStorageError.statementFailed(
                .misuse, "the time between two backups must be above zero")
        }
        guard keepsHourly >= 0, keepsDaily >= 0, keepsWeekly >= 0 else {
            throw SecureStorageError.statementFailed(
                .misuse, "the number of backups to keep must not be negative")
        }
    }
}
