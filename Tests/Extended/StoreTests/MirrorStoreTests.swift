import Foundation
import StoreChecks
import SecureKeys
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// What a mirror promises, over each store that is there: `Scripts/stores` starts the servers.
struct MirrorStoreTests {
    private let home: TemporaryDatabase
    private let pool: SecureDatabasePool

    init() throws {
        home = try TemporaryDatabase()
        pool = try home.openPool()
        try pool.write { try Ledger.create($0) }
    }

    /// Runs `body` with an empty place, which it empties afterwards.
    private func withPlace(
        _ kind: MirrorPlace.Kind, _ body: (MirrorPlace) async throws -> Void
    ) async throws {
        let place = MirrorPlace(kind, in: home.directory)
        try await body(place)
        try await place.empty()
    }

    private func commit() async throws -> Ledger.State {
        try await pool.write { try Ledger.commit($0) }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `what flush has stored is restored`(_ kind: MirrorPlace.Kind) async throws {
        try await withPlace(kind) { place in
            let mirror = try place.mirror(of: pool)
            for round in 0..<6 {
                let state = try await commit()
                if round == 4 {
                    try await pool.writeWithoutTransaction { try $0.executeUpdate("VACUUM") }
                }
                try await mirror.flush()
                try await check(place.restored(), equals: state)
            }
        }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `each point in time is restored as it was, over several starts`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        try await withPlace(kind) { place in
            var states: [(Date, Ledger.State)] = []
            for start in 0..<3 {
                let mirror = try place.mirror(of: pool)
                for _ in 0..<3 {
                    let state = try await commit()
                    try await mirror.flush()
                    states.append((Date(), state))
                    try await Task.sleep(for: .milliseconds(5))
                }
                if start == 1 {
                    // The next one has to begin with a snapshot.
                    let other = try home.openStore { $0.busyTimeout = .zero }
                    defer { other.close() }
                    try await mirror.flush()
                    try other.checkpoint(.passive)
                    try await mirror.flush()
                    try other.checkpoint(.truncate)
                }
            }
            let generations = try await place.store().listAll(place.name + "/generations/")
            check(generations.count, equals: 2)
            for (date, state) in states {
                try await check(place.restored(at: .date(date)), equals: state)
            }
        }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `a second mirror takes over, and the first one stops`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        try await withPlace(kind) { place in
            let first = try place.mirror(of: pool)
            _ = try await commit()
            try await first.flush()
            let other = try home.copiedFiles()
            let otherPool = try other.openPool()
            let state = try await otherPool.write { try Ledger.commit($0) }
            try await place.mirror(of: otherPool).flush()
            _ = try await commit()
            await #expect(throws: MirrorError.otherMirror(place.name)) { try await first.flush() }
            try await check(place.restored(), equals: state)
            await otherPool.close()
        }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `a transaction of many objects is restored whole, with any key but the right one not`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        try await withPlace(kind) { place in
            let mirror = try place.mirror(of: pool)
            try await mirror.flush()
            let before = try await place.store().listAll(place.name).count
            let state = try await pool.write { db in
                try Ledger.commit(db, count: 5, bytes: 2_000_000)
            }
            try await mirror.flush()
            try await check(place.store().listAll(place.name).count > before + 2)
            try await check(place.restored(), equals: state)
            await #expect(throws: MirrorError.self) {
                try await place.restored(key: Data(repeating: 9, count: 32))
            }
        }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `neither names nor objects have anything of the content`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        try await withPlace(kind) { place in
            try await shipCanaries(through: try place.mirror(of: pool))
            let store = try place.store()
            let entries = try await store.listAll(place.name)
            check(entries.count >= 4)
            for entry in entries {
                check(!entry.name.contains("canarybirds"))
                let bytes = try await require(store.read(entry.name))
                check(!Canary.isIn(bytes), "\(entry.name)")
            }
        }
    }

    /// Statements, parameters, request lines, headers, bodies: whatever a server could log.
    @Test(arguments: MirrorPlace.Kind.servers)
    func `no byte that is sent to a server has anything of the content`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        try await withPlace(kind) { place in
            let proxy = try CuttingProxy(to: place.serverPort, records: true)
            defer { proxy.stop() }
            let store = try place.store(through: proxy.port)
            try await shipCanaries(through: place.mirror(of: pool, in: store))
            let sent = proxy.recorded
            // That it is recorded, and not encrypted by TLS.
            check(sent.range(of: Data(place.name.utf8)) != nil)
            check(sent.count > 20_000)
            check(!Canary.isIn(sent))
        }
    }

    private func shipCanaries(through mirror: DatabaseMirror) async throws {
        try await pool.write { db in
            try db.executeStatements("CREATE TABLE canarybirds (canarybirdscolumn)")
            try db.executeUpdate("INSERT INTO canarybirds VALUES ('canarybirdsvalue')")
        }
        try await mirror.flush()
        try await pool.write {
            try $0.executeUpdate("INSERT INTO canarybirds VALUES ('canarybirdsvalue 2')")
        }
        try await mirror.flush()
    }

    @Test func `a canary is found in each form`() {
        for word in Canary.words {
            for offset in 0..<3 {
                let text = Data(repeating: 7, count: offset) + word + Data([1, 2, 3])
                check(Canary.isIn(text) && Canary.isIn(Data(text.base64EncodedString().utf8)))
                check(Canary.isIn(Data(Canary.hex(text).utf8)))
            }
        }
        check(!Canary.isIn(Data("canary birds".utf8)))
    }
}
