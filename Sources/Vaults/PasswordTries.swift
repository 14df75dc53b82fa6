internal import Foundation
internal import SecureStorage
internal import SecureStoragePlatform

/// The passwords tried, and not found right, since the last right one.
struct PasswordTries: Equatable, Sendable {
    var count: UInt32 = 0
    /// When the last one of them began; nil if there was none.
    var last: MachineMoment?

    /// Counts a try; to be stored before the password is checked.
    mutating func begin(at now: MachineMoment) {
        if count < .max { count += 1 }
        last = now
    }

    /// Returns how many seconds from `now` no password is tried.
    func secondsToWait(_ delay: RetryDelay, at now: MachineMoment) -> Int {
        guard let last else { return 0 }
        let delay = Int64(delay.seconds(afterTries: Int(clamping: count))) * 1000
        let left = delay - last.milliseconds(until: now)
        return left > 0 ? Int((left + 999) / 1000) : 0
    }
}

/// How long to wait after wrong passwords in a row, before the next one is tried.
struct RetryDelay: Sendable {
    /// Seconds to wait after the third one, doubled by each further one, up to a day; 0 for never.
    let seconds: Int

    static let longest = 86_400
    private static let triesWithoutDelay = 3

    func seconds(afterTries tries: Int) -> Int {
        guard seconds > 0, tries >= Self.triesWithoutDelay else { return 0 }
        var delay = seconds
        for _ in Self.triesWithoutDelay..<max(Self.triesWithoutDelay, min(tries, 32))
        where delay < Self.longest {
            delay *= 2
        }
        return min(delay, Self.longest)
    }
}

extension PasswordTries {
    private static let never = MachineMoment(
        uptime: 0, start: Data(count: MachineMoment.startLength))

    func writeLast(to writer: inout ByteWriter) {
        let last = last ?? Self.never
        writer.integer(UInt64(bitPattern: last.uptime))
        writer.raw(last.start)
    }

    static func last(from reader: inout ByteReader) throws -> MachineMoment? {
        let last = MachineMoment(
            uptime: Int64(bitPattern: try reader.integer(UInt64.self)),
            start: Data(try reader.take(MachineMoment.startLength)))
        return last == never ? nil : last
    }
}
