internal import CSecureStoragePlatform
package import Foundation

/// A moment of one run of this machine, by a clock that cannot be set.
package struct MachineMoment: Sendable, Equatable {
    /// Milliseconds since the machine started, sleep included.
    package var uptime: Int64
    /// 16 bytes that differ for each start of the machine; zeros if they are unknown.
    package let start: Data

    package static let startLength = 16

    package init(uptime: Int64, start: Data) {
        self.uptime = uptime
        self.start = start
    }

    package static var now: MachineMoment {
        MachineMoment(uptime: cplatform_uptime() / 1_000_000, start: currentStart)
    }

    /// Returns how many milliseconds have certainly passed until `later`, at least 0.
    ///
    /// If the machine was started again in between, only those since its start count: how long it
    /// was off is known only by the date, which can be set.
    package func milliseconds(until later: MachineMoment) -> Int64 {
        // If one of the two could not read the start, it counts as the same: that is never more.
        let isKnown = [start, later.start].allSatisfy { $0.contains { $0 != 0 } }
        let isSameRun = later.uptime >= uptime && (!isKnown || start == later.start)
        let (passed, overflows) =
            isSameRun ? later.uptime.subtractingReportingOverflow(uptime) : (later.uptime, false)
        return overflows ? 0 : max(0, passed)
    }

    /// The identity of this run of the machine.
    private static let currentStart: Data = {
        var text = [CChar](repeating: 0, count: 37)
        cplatform_machine_start(&text)
        let bytes = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        guard let uuid = UUID(uuidString: String(decoding: bytes, as: UTF8.self))?.uuid else {
            return Data(count: startLength)
        }
        return withUnsafeBytes(of: uuid) { Data($0) }
    }()
}
