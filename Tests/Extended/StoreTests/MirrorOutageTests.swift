import Foundation
import StoreChecks
import SecureMirror
import SecureStorage
import SecureStoragePlatform
import SecureSync
import Testing
import TestSupport

/// Mirrors whose store fails.
struct MirrorOutageTests {
    private let home: TemporaryDatabase
    private let pool: SecureDatabasePool

    init() throws {
        home = try TemporaryDatabase()
        pool = try home.openPool()
        try pool.write { try Ledger.create($0) }
    }

    @Test(arguments: MirrorPlace.Kind.servers, [false, true])
    func `cuts of the connection at any byte lose nothing and repeat nothing`(
        _ kind: MirrorPlace.Kind, isPatient: Bool
    ) async throws {
        let place = MirrorPlace(kind, in: home.directory)
        let proxy = try CuttingProxy(to: place.serverPort)
        defer { proxy.stop() }
        // Without patience the mirror repeats what the store does not.
        let store = try place.store(
            through: proxy.port, patience: isPatient ? .seconds(60) : .zero)
        var mirror = try place.mirror(of: pool, in: store)
        var failures = 0
        for round in 0..<environmentNumber("SECURESTORAGE_CUTS", default: 12) {
            let state = try await pool.write { try Ledger.commit($0) }
            if round % 5 == 4 { mirror = try place.mirror(of: pool, in: store) }
            let direction = CuttingProxy.Direction.allCases.randomElement() ?? .requests
            proxy.cut(after: .random(in: 0..<(Bool.random() ? 1000 : 30_000)), of: direction)
            while true {
                do {
                    try await mirror.flush()
                    break
                } catch let error as MirrorError where error.isTransient {
                    failures += 1
                }
            }
            try await check(place.restored(), equals: state, "round \(round)")
        }
        check(proxy.cuts > 0 && (isPatient ? failures == 0 : failures > 0))
        SuddenDeath.report("mirror over \(kind): \(proxy.cuts) cuts, \(failures) failed calls")
        try await place.empty()
    }

    @Test func `a mirror continues when every answer to a creation was lost`() async throws {
        let place = MirrorPlace(.directory, in: home.directory)
        let store = ForgetfulStore(store: try place.store())
        try await store.probe(under: place.name + "/")
        for _ in 0..<2 {
            let mirror = try place.mirror(of: pool, in: store)
            for _ in 0..<3 {
                let state = try await pool.write { try Ledger.commit($0) }
                try await mirror.flush()
                try await check(place.restored(), equals: state)
            }
        }
    }

    @Test func `what a mirror stores while another one begins is in the generation of that one`()
        async throws
    {
        let place = MirrorPlace(.directory, in: home.directory)
        let first = try place.mirror(of: pool)
        let other = try home.openPool()
        // The first one lets go of the log, which is restarted: the second one has to begin with
        // a snapshot.
        try await first.flush()
        try await pool.checkpoint(.passive)
        try await first.flush()
        try await pool.checkpoint(.truncate)
        _ = try await pool.write { try Ledger.commit($0) }
        let stored = Locked<Ledger.State?>(nil)
        let second = try place.mirror(
            of: other,
            in: HookedStore(try place.store()) { [pool] step, name in
                if step == .list, name.hasSuffix("/generations/"), stored.withLock({ $0 == nil }) {
                    let state = try await pool.write { try Ledger.commit($0) }
                    try await first.flush()
                    stored.withLock { $0 = state }
                }
                // As if it was killed as soon as its generation is complete.
                if step == .created, name.hasSuffix("manifest") { throw Killed() }
            })
        await #expect(throws: Killed.self) { try await second.flush() }
        let state = try require(stored.withLock { $0 })
        // Whatever was stored until it ended the generation of the first one.
        try await check(place.restored(), equals: state)
        await other.close()
    }

    private struct Killed: Error {}
}
