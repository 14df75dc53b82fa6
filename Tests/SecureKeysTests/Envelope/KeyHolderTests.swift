import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import SecureKeys

struct KeyHolderTests {
    /// A clock that a test sets, since a test cannot wait for hours.
    private final class ManualClock: IdleClock, @unchecked Sendable {
        // @unchecked: `time` and `reading` are only touched under `lock`.
        private let lock = NSLock()
        private var time: Duration = .seconds(1_000)
        private var reading: (@Sendable () -> Void)?

        var now: Duration {
            lock.withLock { reading }?()
            return lock.withLock { time }
        }

        func whenRead(_ body: (@Sendable () -> Void)?) { lock.withLock { reading = body } }

        func advance(by duration: Duration) { lock.withLock { time += duration } }
    }

    @Test func `a key can be used until it has been idle long enough, then it is cleared`() throws {
        let clock = ManualClock()
        let holder = KeyHolder(idleTime: .seconds(300), clock: clock)
        let key = try DataEncryptionKey.random(name: "data")
        #expect(throws: EnvelopeError.locked) { try holder.withKey { _ in } }
        holder.hold(key)
        for _ in 0..<5 {
            clock.advance(by: .seconds(299))
            try check(holder.withKey(\.name), equals: "data")
        }
        clock.advance(by: .seconds(299))
        check(holder.isHolding)
        clock.advance(by: .seconds(1))
        #expect(throws: EnvelopeError.locked) { try holder.withKey { _ in } }
        check(!holder.isHolding)
        check(key.isCleared)
    }

    @Test func `a clock may drop the key of the holder that reads it`() throws {
        let clock = ManualClock()
        let holder = KeyHolder(idleTime: .seconds(10), clock: clock)
        holder.hold(try .random(name: "data"))
        clock.whenRead { [weak holder] in holder?.drop() }
        #expect(throws: EnvelopeError.locked) { try holder.withKey { _ in } }
        check(!holder.isHolding)
        clock.whenRead(nil)
    }

    @Test func `checking whether a key is held does not count as use`() throws {
        let clock = ManualClock()
        let holder = KeyHolder(idleTime: .seconds(10), clock: clock)
        holder.hold(try .random(name: "data"))
        for _ in 0..<9 {
            clock.advance(by: .seconds(1))
            check(holder.isHolding)
        }
        clock.advance(by: .seconds(1))
        check(!holder.isHolding)
    }

    @Test func `a key in use is not dropped, and its idle time starts when the use ends`() throws {
        let clock = ManualClock()
        let holder = KeyHolder(idleTime: .seconds(10), clock: clock)
        holder.hold(try .random(name: "data"))
        try holder.withKey { key in
            clock.advance(by: .seconds(3_600))
            check(holder.isHolding)
            check(!key.isCleared)
        }
        clock.advance(by: .seconds(9))
        check(holder.isHolding)
        clock.advance(by: .seconds(1))
        check(!holder.isHolding)
    }

    @Test func `dropping a key, replacing it or releasing its holder clears it`() throws {
        let keys = try (0..<3).map { try DataEncryptionKey.random(name: "\($0)") }
        var holder: KeyHolder? = KeyHolder(idleTime: .seconds(60))
        holder?.hold(keys[0])
        holder?.hold(keys[0])
        check(!keys[0].isCleared)
        holder?.hold(keys[1])
        check(keys[0].isCleared && !keys[1].isCleared)
        holder?.drop()
        holder?.drop()
        check(keys[1].isCleared)
        holder?.hold(keys[2])
        holder = nil
        check(keys[2].isCleared)
    }

    @Test func `an idle key is cleared without a call`() async throws {
        let holder = KeyHolder(idleTime: .milliseconds(200))
        let key = try DataEncryptionKey.random(name: "data")
        holder.hold(key)
        for _ in 0..<3_000 where !key.isCleared { try await Task.sleep(for: .milliseconds(20)) }
        check(key.isCleared)
        #expect(throws: EnvelopeError.locked) { try holder.withKey { _ in } }
    }

    @Test func `threads may use, hold and drop keys concurrently`() async throws {
        let holder = KeyHolder(idleTime: .milliseconds(1))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<8 {
                group.addTask {
                    for round in 0..<200 {
                        switch (task + round) % 8 {
                        case 0: holder.hold(try .random(name: "data"))
                        case 1: holder.drop()
                        case 2: _ = holder.isHolding
                        default:
                            do {
                                let sealed = try holder.withKey {
                                    try $0.seal(Data(), table: "t", column: "c", row: 1)
                                }
                                check(sealed.count, equals: DataEncryptionKey.valueOverhead)
                            } catch EnvelopeError.locked {
                            } catch EnvelopeError.cleared {
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .seconds(Int64.max)])
    func `no idle time is too short or too long`(_ idleTime: Duration) throws {
        let holder = KeyHolder(idleTime: idleTime)
        holder.hold(try .random(name: "data"))
        check(holder.isHolding, equals: (idleTime > .zero))
    }

    @Test func `the system clock advances, and includes sleep`() async throws {
        let clock = SystemIdleClock()
        let before = clock.now
        try await Task.sleep(for: .milliseconds(50))
        check(clock.now - before >= .milliseconds(50))
        #if os(Linux)
            // The time since boot, including sleep, which the system gives in hundredths.
            let early = clock.now / .seconds(1)
            let text = try String(contentsOfFile: "/proc/uptime", encoding: .utf8)
            let uptime = try require(text.split(separator: " ").first.flatMap { Double($0) })
            check(uptime > early - 0.02 && uptime <= clock.now / .seconds(1))
        #endif
    }
}
