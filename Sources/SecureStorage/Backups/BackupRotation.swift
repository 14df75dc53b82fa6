internal import Foundation

/// The rule by which copies become superfluous.
///
/// The hours, days and weeks that have copies are counted, not those that have passed by the clock:
/// a clock that jumps ahead makes nothing old.
struct BackupRotation {
    let settings: BackupSchedule.Settings

    /// Returns the copies that may be removed, oldest first.
    ///
    /// Never the newest, nor the newest that was verified, nor one whose date is later than `now`:
    /// that one was made while the clock was wrong, and counts when its time has come.
    func surplus(
        of backups: [BackupSchedule.Backup], now: Date
    ) -> [BackupSchedule.Backup] {
        let past = backups.filter { $0.date <= now }.sorted { $0.date > $1.date }
        var kept: Set<BackupSchedule.Backup> = []
        if let newest = past.first { kept.insert(newest) }
        if let verified = past.first(where: \.isVerified) { kept.insert(verified) }
        for (count, period) in [
            (settings.keepsHourly, Self.hour), (settings.keepsDaily, Self.day),
            (settings.keepsWeekly, Self.week),
        ] {
            var periods: Set<Double> = []
            for backup in past {
                let (inserted, _) = periods.insert(period(backup.date))
                guard periods.count <= count else { break }
                if inserted { kept.insert(backup) }
            }
        }
        return past.filter { !kept.contains($0) }.reversed()
    }

    /// The number of an hour, from the reference date on.
    private static func hour(_ date: Date) -> Double {
        (date.timeIntervalSince1970 / 3600).rounded(.down)
    }

    private static func day(_ date: Date) -> Double {
        (date.timeIntervalSince1970 / 86_400).rounded(.down)
    }

    /// 1 January 1970 was a Thursday.
    private static func week(_ date: Date) -> Double {
        ((date.timeIntervalSince1970 / 86_400 + 3) / 7).rounded(.down)
    }
}
