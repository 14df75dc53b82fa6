import Foundation
import SecureSync
import Testing

/// Worlds of devices, each from a seed.
///
/// `make sync-world` runs thousands.
@Suite struct SyncWorldTests {
    private static let first = number("SECURESTORAGE_FIRST_WORLD") ?? 0
    private static let count = number("SECURESTORAGE_WORLDS") ?? 100

    private static func number(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }

    @Test func `worlds meet everything that can happen`() async throws {
        var seen: Set<SyncWorld.Event> = []
        for seed in 0..<UInt64(40) where seen.count < SyncWorld.Event.allCases.count {
            var world = SyncWorld(seed: seed)
            try await world.run(steps: 60)
            seen.formUnion(world.seen)
        }
        #expect(seen == Set(SyncWorld.Event.allCases))
    }

    @Test(arguments: first..<(first + count))
    func `after healing all devices of a world hold the same rows`(seed: UInt64) async throws {
        var world = SyncWorld(seed: seed)
        do {
            try await world.run(steps: 60)
        } catch {
            Issue.record("seed \(seed): \(error)\n\(world.log.joined(separator: "\n"))")
        }
    }
}
