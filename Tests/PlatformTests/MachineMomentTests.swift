import Foundation
import SecureStoragePlatform
import TestSupport
import Testing

struct MachineMomentTests {
    private static func moment(_ uptime: Int64, _ start: UInt8 = 1) -> MachineMoment {
        MachineMoment(uptime: uptime, start: Data(repeating: start, count: 16))
    }

    @Test func `within one run of the machine, time is the difference`() {
        check(Self.moment(100).milliseconds(until: Self.moment(350)), equals: 250)
        check(Self.moment(100).milliseconds(until: Self.moment(100)), equals: 0)
    }

    @Test func `after another start, only the time since then counts`() {
        check(Self.moment(100, 1).milliseconds(until: Self.moment(350, 2)), equals: 350)
        check(Self.moment(900, 1).milliseconds(until: Self.moment(350, 2)), equals: 350)
    }

    @Test func `without a known start, an earlier uptime means another start`() {
        check(Self.moment(100, 0).milliseconds(until: Self.moment(350, 0)), equals: 250)
        check(Self.moment(900, 0).milliseconds(until: Self.moment(350, 0)), equals: 350)
    }

    @Test func `a start that only one of two could read counts as the same`() {
        check(Self.moment(100, 0).milliseconds(until: Self.moment(350, 1)), equals: 250)
        check(Self.moment(100, 1).milliseconds(until: Self.moment(350, 0)), equals: 250)
        check(Self.moment(900, 1).milliseconds(until: Self.moment(350, 0)), equals: 350)
    }

    @Test func `hostile numbers do not trap`() {
        check(Self.moment(.min).milliseconds(until: Self.moment(.max)), equals: 0)
        check(Self.moment(.max).milliseconds(until: Self.moment(.min)), equals: 0)
    }

    @Test func `now has a start, and time passes`() {
        let now = MachineMoment.now
        check(now.start.count, equals: 16)
        check(now.start.contains { $0 != 0 })
        usleep(20_000)
        check((20...60_000).contains(now.milliseconds(until: .now)))
    }
}
