internal import CSecureStoragePlatform
package import Foundation

/// A moment on this machine: by the date, which can be set, and by the time since the machine
/// started, which cannot.
package struct MachineMoment: Sendable, Equatable {
    /// Seconds since 1970.
    package var date: Int64
    /// Seconds since the machine started, sleep included; can be negative for a moment before that.
    package var uptime: Int64
    /// 16 bytes that differ for each start of the machine; zeros if the system does not tell.
    package let start: Data

    package static let startLength = 16

    package init(date: Int64, uptime: Int64, start: Data) {
        self.date = date
        self.uptime = uptime
        self.start = start
    }

    /// Returns how many seconds have passed until `later`, at least 0: by the uptime if the machine
    /// was not started again in between, otherwise by the date.
    package func seconds(until later: MachineMoment) -> Int64 {
        let isSameRun = start == later.start && start.contains { $0 != 0 }
        let (seconds, overflows) =
            isSameRun
            ? later.uptime.subtractingReportingOverflow(uptime)
            : later.date.subtractingReportingOverflow(date)
        return overflows ? 0 : max(0, seconds)
    }

    /// The identity of this run of the machine.
    package static let currentStart: Data = {
        var bytes = Data(count: startLength)
        guard let text = startText, let uuid = UUID(uuidString: text)?.uuid else { return bytes }
        withUnsafeBytes(of: uuid) { bytes = Data($0) }
        return bytes
    }()

    private static var startText: String? {
        #if canImport(Darwin)
            var text = [UInt8](repeating: 0, count: 64)
            var size = text.count - 1
            guard sysctlbyname("kern.bootsessionuuid", &text, &size, nil, 0) == 0 else {
                return nil
            }
            return String(decoding: text.prefix { $0 != 0 }, as: UTF8.self)
        #else
            let url = URL(fileURLWithPath: "/proc/sys/kernel/random/boot_id")
            let bytes = try? FileHandle(forReadingFrom: url).readToEnd()
            return bytes.map { String(decoding: $0.prefix { $0 > 0x20 }, as: UTF8.self) }
        #endif
    }
}
