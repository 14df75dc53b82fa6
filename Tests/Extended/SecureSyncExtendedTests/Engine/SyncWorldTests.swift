import Foundation
import SecureSync
import TestSupport
import Testing

@testable import SyncWorlds
@testable import SecureSyncTests

/// Worlds of devices, each from a seed; `make campaign NAME=sync-worlds` runs thousands.
struct SyncWorldTests {
    @Test func `worlds meet everything that can happen`() async throws {
        var seen: Set<SyncWorld.Event> = []
        for seed in 0..<UInt64(40) where seen.count < SyncWorld.Event.allCases.count {
            var world = SyncWorld(seed: seed)
            try await world.run(steps: 60)
            seen.formUnion(world.seen)
        }
        check(seen, equals: Set(SyncWorld.Event.allCases))
    }

    @Test(arguments: UInt64(0)..<100)
    func `after healing all devices of a world hold the same rows`(seed: UInt64) async throws {
        var world = SyncWorld(seed: seed)
        do {
            try await world.run(steps: 60)
        } catch {
            Issue.record("seed \(seed): \(error)\n\(world.log.joined(separator: "\n"))")
        }
    }

    @Test(arguments: UInt64(36)..<44)
    func `members that write and die before their logs begin lose nothing`(
        seed: UInt64
    ) async throws {
        var world = SyncWorld(seed: seed)
        do {
            try await world.runBeginnings(3)
        } catch {
            Issue.record("seed \(seed): \(error)\n\(world.log.joined(separator: "\n"))")
        }
    }
}
