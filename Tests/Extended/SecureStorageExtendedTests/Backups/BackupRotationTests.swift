import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

/// Which copies the rule removes, by any clock.
struct BackupRotationTests {
    private typealias Backup = BackupSchedule.Backup

    private static func backup(_ seconds: Double, isVerified: Bool = true) -> Backup {
        Backup(
            url: URL(fileURLWithPath: "/backups/\(seconds)-\(isVerified)"),
            date: Date(timeIntervalSince1970: seconds), isVerified: isVerified)
    }

    private static func rotation(
        _ hourly: Int, _ daily: Int, _ weekly: Int
    ) -> BackupRotation {
        var settings = BackupSchedule.Settings()
        (settings.keepsHourly, settings.keepsDaily, settings.keepsWeekly) = (hourly, daily, weekly)
        return BackupRotation(settings: settings)
    }

    /// Makes a copy at each of the times, and rotates after each, as a schedule does.
    private static func run(
        _ times: [Double], _ rotation: BackupRotation, from backups: [Backup] = []
    ) -> [Backup] {
        times.reduce(into: backups) { backups, time in
            backups.append(backup(time))
            let surplus = Set(rotation.surplus(of: backups, now: backup(time).date))
            backups.removeAll { surplus.contains($0) }
        }
    }

    @Test func `60 days of four copies an hour leave the hours, days and weeks that are asked for`()
    {
        // From 1 January 2026, a Thursday.
        let start = 1_767_225_600.0
        let times = (0..<60 * 96).map { start + Double($0) * 900 }
        let left = Self.run(times, Self.rotation(24, 7, 4)).map(\.date.timeIntervalSince1970)
        let end = start + 60 * 86_400
        // The last of each of 24 hours; the last of the seven days, of which the last two are among
        // those; the last of each of the four weeks.
        let hours = (1...24).map { end - Double($0) * 3600 + 2700 }
        let days = (1...7).map { end - Double($0) * 86_400 + 85_500 }
        // The sixtieth day is a Sunday.
        let weeks = (1...4).map { end - Double($0) * 7 * 86_400 + 7 * 86_400 - 900 }
        check(Set(left), equals: Set(hours + days + weeks))
    }

    @Test
    func `any copies at any time: the newest, the newest verified and those of the future stay`() {
        var random = SplitMix64(seed: 25)
        for round in 0..<2000 {
            let rotation = Self.rotation(
                Int.random(in: 0...5, using: &random), Int.random(in: 0...4, using: &random),
                Int.random(in: 0...3, using: &random))
            let spans: [Double] = [3600, 86_400, 30 * 86_400, 800 * 86_400]
            let span = spans.randomElement(using: &random) ?? 1
            let backups = Set(
                (0..<Int.random(in: 0...60, using: &random)).map { _ in
                    Self.backup(
                        1.7e9 + Double.random(in: 0...span, using: &random),
                        isVerified: Bool.random(using: &random))
                })
            let now = Date(
                timeIntervalSince1970: 1.7e9 + Double.random(in: -span...span * 2, using: &random))
            let surplus = rotation.surplus(of: Array(backups), now: now)
            let left = backups.subtracting(surplus)
            let past = backups.filter { $0.date <= now }
            check(backups.subtracting(past).isSubset(of: left), "round \(round)")
            if let newest = past.max(by: { $0.date < $1.date }) {
                check(left.contains(newest), "round \(round)")
            }
            if let verified = past.filter(\.isVerified).max(by: { $0.date < $1.date }) {
                check(left.contains(verified), "round \(round)")
            }
            // What is left is not rotated further, and the order of the files does not matter.
            check(rotation.surplus(of: Array(left), now: now).isEmpty, "round \(round)")
            check(rotation.surplus(of: backups.shuffled(using: &random), now: now), equals: surplus)
            // No more than the settings keep, and the two that always stay.
            let settings = rotation.settings
            let most = settings.keepsHourly + settings.keepsDaily + settings.keepsWeekly + 2
            check(past.subtracting(surplus).count <= most, "round \(round)")
        }
    }

    @Test func `a clock that jumps by a year, ahead or back, leaves copies from before the jump`() {
        let start = 1_767_225_600.0
        let year = 365 * 86_400.0
        let rotation = Self.rotation(24, 7, 4)
        let before = Self.run((0..<1000).map { start + Double($0) * 3600 }, rotation)
        let jump = start + 1000 * 3600
        for shift in [year, -year] {
            // Two days by the wrong clock, then two by the right one.
            let wrong = Self.run(
                (0..<48).map { jump + shift + Double($0) * 3600 }, rotation, from: before)
            let after = Self.run(
                (48..<96).map { jump + Double($0) * 3600 }, rotation, from: wrong)
            for backups in [wrong, after] {
                let old = backups.filter { (start...jump).contains($0.date.timeIntervalSince1970) }
                check(old.count >= 4, "a shift of \(shift)")
            }
            // Of the two days by the right clock, all hours that are asked for.
            let new = after.filter {
                $0.date.timeIntervalSince1970 >= jump + 48 * 3600
                    && $0.date.timeIntervalSince1970 < jump + year / 2
            }
            check(new.count >= 24, "a shift of \(shift)")
        }
    }

    @Test func `when no copy is verified any longer, the last one that was stays`() {
        let verified = Self.backup(1e9)
        let others = (1...100).map { Self.backup(1e9 + Double($0) * 604_800, isVerified: false) }
        let rotation = Self.rotation(1, 1, 1)
        let surplus = rotation.surplus(of: others + [verified], now: Date())
        check(surplus.count, equals: 99)
        check(!surplus.contains(verified))
    }

    @Test func `a name is read back as the time that it was made of, and no other name is read`()
        throws
    {
        let names = try BackupName("notes")
        var random = SplitMix64(seed: 26)
        var last = ""
        for time in (0..<2000).map({ _ in Int64.random(in: 0...253_402_300_799_999, using: &random)
        })
        .sorted() {
            let isVerified = time % 2 == 0
            let file = names.file(at: time, isVerified: isVerified)
            let read = try require(names.read(file))
            check(read == (time, isVerified))
            check(file > last)
            last = file
        }
        check(
            names.file(at: 1_795_533_150_123, isVerified: true),
            equals: "notes-20261124T151230.123Z.db")
        check(try require(names.read("notes-19700101T000000.000Z.db")) == (0, true))
        for other in [
            "notes-19691231T235959.999Z.db", "notes-20261124T151230.123Z.db-wal",
            "notes-20261124T151230.123Z", "notes.db",
            "notes-20261324T151230.123Z.db", "notes-20260230T151230.123Z.db",
            "notes-20261124T251230.123Z.db", "notes-20261124t151230.123Z.db",
            "notes-20261124T151230.123Z-old.db", "other-20261124T151230.123Z.db",
            "notes-2-20261124T151230.123Z.db", "notes-+0261124T151230.123Z.db", "notes-", "",
            "notes-２0261124T151230.123Z.db", "Notes-20261124T151230.123Z.db",
        ] {
            check(names.read(other) == nil, "\(other)")
        }
        for name in ["", ".notes", "a/b", "a\0", String(repeating: "x", count: 181)] {
            check(storageError { _ = try BackupName(name) }?.resultCode, equals: .misuse, "\(name)")
        }
    }
}
