import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
import VaultsTestKit

struct ExpiringValueTests {
    @Test func `a value is available until it expires, whether read or not`() {
        let clock = ManualClock()
        let value = ExpiringValue<Int>(expiresAfter: 10, clock: clock)
        check(value.value == nil)
        value.value = 1
        clock.advance(by: .seconds(9))
        check(value.value, equals: 1)
        clock.advance(by: .seconds(1))
        check(value.value == nil)
        value.value = 2
        clock.advance(by: .seconds(9))
        value.value = 3
        clock.advance(by: .seconds(9))
        check(value.value, equals: 3, "setting a value restarts the time")
        value.value = nil
        check(value.value == nil)
    }

    @Test(arguments: [TimeInterval(0), -1, .nan, -TimeInterval.infinity])
    func `without a positive time nothing is kept`(_ time: TimeInterval) {
        let value = ExpiringValue<Int>(expiresAfter: time)
        value.value = 1
        check(value.value == nil)
    }

    @Test(arguments: [TimeInterval.infinity, 1e300, 1e-9 + 3600])
    func `no time is too long`(_ time: TimeInterval) {
        let value = ExpiringValue<Int>(expiresAfter: time)
        value.value = 1
        check(value.value, equals: 1)
    }

    @Test func `a key expires and is cleared without being read`() async throws {
        let value = ExpiringValue<DataEncryptionKey>(expiresAfter: 0.1)
        let key = try DataEncryptionKey.random(name: "data")
        value.value = key
        for _ in 0..<3_000 where !key.isCleared { try await Task.sleep(for: .milliseconds(20)) }
        check(key.isCleared)
    }

    @Test func `other holders of a Data keep its contents`() {
        let value = ExpiringValue<Data>(expiresAfter: 10)
        let mine = Data(repeating: 7, count: 100)
        value.value = mine
        value.value = nil
        check(mine, equals: Data(repeating: 7, count: 100))
    }

    @Test func `16 threads may set and read`() async {
        let value = ExpiringValue<Data>(expiresAfter: 0.001)
        await withTaskGroup(of: Void.self) { group in
            for task in 0..<16 {
                group.addTask {
                    for round in 0..<200 {
                        switch (task + round) % 4 {
                        case 0: value.value = Data(repeating: 7, count: 100)
                        case 1: value.value = nil
                        default:
                            if let data = value.value {
                                check(data, equals: Data(repeating: 7, count: 100))
                            }
                        }
                    }
                }
            }
        }
    }
}
