import Foundation
import TestSupport
import Testing

@testable import SecureStorageTool

struct PointInTimeTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static func parse(_ text: String, _ zone: String = "Europe/Berlin") throws -> Date? {
        PointInTime(text, now: now, timeZone: try require(TimeZone(identifier: zone)))?.date
    }

    @Test(arguments: [
        ("2026-11-21T10:30:15Z", 1_795_257_015.0), ("2026-11-21T10:30:15.250Z", 1_795_257_015.25),
        ("2026-11-21 11:30:15", 1_795_257_015), ("2026-11-21t11:30", 1_795_257_000),
        ("2026-11-21T10:30:15,5+00:00", 1_795_257_015.5), ("2026-11-21", 1_795_215_600),
        ("2026-11-21T12:30:15+02", 1_795_257_015), ("2026-11-21T05:00:15-0530", 1_795_257_015),
        ("2026-07-21T10:30:15", 1_784_622_615), ("2026-11-21Z", 1_795_219_200),
    ])
    func `ISO 8601 is read, in the local time zone unless one is given`(
        _ text: String, _ seconds: Double
    ) throws {
        try check(Self.parse(text), equals: Date(timeIntervalSince1970: seconds))
    }

    @Test(arguments: [
        ("-90s", 90.0), ("-30m", 1800), ("-2h", 7200), ("-1d", 86400), ("-1w", 604_800),
        ("-0s", 0),
    ])
    func `a time before now is read`(_ text: String, _ seconds: Double) throws {
        try check(Self.parse(text), equals: Self.now - seconds)
    }

    @Test(arguments: [
        "", "-", "-2", "2h", "-2y", "-2.5h", "-2h30m", "now", "2026", "2026-13-01", "2026-02-30",
        "2026-11-21T24:00", "2026-11-21T10:60", "2026-11-21T10", "2026-11-21T10:30:15+25:00",
        "2026-11-21T10:30:15X", "21.11.2026", "10:30", "2026-11-21T10:30Z ", "٢٠٢٦-11-21",
    ])
    func `anything else is refused`(_ text: String) throws {
        try check(Self.parse(text) == nil)
    }

    @Test func `a date that was shown is read back as the same millisecond`() throws {
        for zone in ["GMT", "Europe/Berlin", "America/St_Johns", "Asia/Kolkata"] {
            let timeZone = try require(TimeZone(identifier: zone))
            for round in 0..<300 {
                let milliseconds = Double(1_795_257_015_000 + round * 1_234_567)
                let date = Date(timeIntervalSince1970: milliseconds / 1000)
                let text = PointInTime.text(date, in: timeZone)
                let read = try require(
                    PointInTime(text, now: Self.now, timeZone: .gmt)?.date, "\(text)")
                check(
                    (read.timeIntervalSince1970 * 1000).rounded(), equals: milliseconds, "\(text)")
            }
        }
    }
}
