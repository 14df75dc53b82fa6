import Foundation
import SecureStoragePlatform
import Testing

@Suite struct MachineMomentTests {
    private static func moment(_ uptime: Int64, _ start: UInt8 = 1) -> MachineMoment {
        MachineMoment(uptime: uptime, start: Data(repeating: start, count: 16))
    }

    @Test func `within one run of the machine, time is the difference`() {
        #expect(Self.moment(100).milliseconds(until: Self.moment(350)) == 250)
        #expect(Self.moment(100).milliseconds(until: Self.moment(100)) == 0)
    }

    @Test func `after another start, only the time since then counts`() {
        #expect(Self.moment(100, 1).milliseconds(until: Self.moment(350, 2)) == 350)
        #expect(Self.moment(900, 1).milliseconds(until: Self.moment(350, 2)) == 350)
    }

    @Test func `without a known start, an earlier uptime means another start`() {
        #expect(Self.moment(100, 0).milliseconds(until: Self.moment(350, 0)) == 250)
        #expect(Self.moment(900, 0).milliseconds(until: Self.moment(350, 0)) == 350)
    }

    @Test func `a start that only one of two could read counts as the same`() {
        #expect(Self.moment(100, 0).milliseconds(until: Self.moment(350, 1)) == 250)
        #expect(Self.moment(100, 1).milliseconds(until: Self.moment(350, 0)) == 250)
        #expect(Self.moment(900, 1).milliseconds(until: Self.moment(350, 0)) == 350)
    }

    @Test func `hostile numbers do not trap`() {
        #expect(Self.moment(.min).milliseconds(until: Self.moment(.max)) == 0)
        #expect(Self.moment(.max).milliseconds(until: Self.moment(.min)) == 0)
    }

    @Test func `now has a start, and time passes`() {
        let now = MachineMoment.now
        #expect(now.start.count == 16)
        #expect(now.start.contains { $0 != 0 })
        usleep(20_000)
        #expect((20...60_000).contains(now.milliseconds(until: .now)))
    }
}
