import Foundation
import TestSupport
import Testing

#if os(Linux)
    /// The bus of the tests is a process that lives long beside other tests' programs.
    @Suite(.enabled(if: PrivateKeyring.isInstalled), .timeLimit(.minutes(10)))
    struct PrivateKeyringTests {
        @Test func `a program that ends while a bus starts is seen to end`() throws {
            let (started, ended) = (Gathered<Int>(), Gathered<Int>())
            for number in 1...4 {
                Thread.detachNewThread {
                    while started.values.isEmpty { _ = try? ChildProcess("true") }
                    ended.add(number)
                }
            }
            let buses = try (1...20).map { _ in try PrivateKeyring(hasKeyring: false) }
            started.add(buses.count)
            let deadline = ContinuousClock.now + .seconds(60)
            while ended.values.count < 4, .now < deadline { usleep(10_000) }
            #expect(ended.values.count == 4)
            for bus in buses { bus.stop() }
        }
    }
#endif
