import Foundation
import StoreChecks
import ObjectStores
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// Processes that work with a mirror or a store, and are killed at any time.
struct MirrorKillTests {
    /// As many as usual, or a campaign's number, of which a server gets a tenth.
    private static func kills(_ kind: MirrorPlace.Kind = .directory, usual: Int) -> Int {
        let count = SuddenDeath.count(usual)
        return kind == .directory ? count : min(count, max(usual, count / 10))
    }

    /// A random time in which a process begins or does some rounds; now and then more of them.
    private static func moment(_ kind: MirrorPlace.Kind) -> Duration {
        let latest = Int.random(in: 0..<10) == 0 ? 800 : 250
        let slowness =
            switch kind {
            case .directory: 1
            case .postgresql: 3
            case .s3: 8
            }
        return .milliseconds(Int.random(in: 20...(latest * slowness)))
    }

    /// What many kills have come to.
    private struct Tally: Sendable {
        var kills = 0
        /// The commits that a flush has stored.
        var commits = 0
        /// Kills before anything was stored.
        var early = 0

        static func += (tally: inout Tally, other: Tally) {
            tally.kills += other.kills
            tally.commits += other.commits
            tally.early += other.early
        }
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `a kill loses nothing that flush has stored, and only states of commits are restored`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        let count = Self.kills(kind, usual: 12)
        // A new file and place after a few kills, so that each costs the same.
        let lengths = stride(from: 0, to: count, by: 6).map { min(6, count - $0) }
        let lanes = 3
        let total = try await withThrowingTaskGroup(of: Tally.self) { group in
            for lane in 0..<lanes {
                group.addTask {
                    var tally = Tally()
                    for (index, length) in lengths.enumerated() where index % lanes == lane {
                        tally += try await Self.chain(kind, kills: length, index)
                    }
                    return tally
                }
            }
            return try await group.reduce(into: Tally()) { $0 += $1 }
        }
        SuddenDeath.report(
            "mirror over \(kind): \(total.kills) kills, \(total.commits) commits were stored, and "
                + "none is lost; \(total.early) kills were before the first")
        check(total.kills == count && total.commits > 0)
    }

    /// Kills an app several times, with one file and one place.
    private static func chain(
        _ kind: MirrorPlace.Kind, kills: Int, _ index: Int
    ) async throws -> Tally {
        let home = try TemporaryDatabase()
        try Ledger.create(at: home)
        let place = MirrorPlace(kind, in: home.directory)
        let acknowledged = NumberFile(home.directory.appendingPathComponent("acknowledged"))
        var tally = Tally()
        for kill in 0..<kills {
            let worker = try Worker([
                "app", home.path, place.description, home.directory.path + "/acknowledged",
                index % 8 == 7 ? "1" : "0",
            ])
            // Sometimes not before something is stored, however slow the machine is.
            if kill == 0, index % 3 == 0 { try await acknowledged.wait() }
            try await worker.kill(after: moment(kind))
            tally.kills += 1
            let stored = acknowledged.number
            let restored: Ledger.State
            do {
                restored = try await place.restored()
            } catch MirrorError.noMirror where stored == 0 {
                tally.early += 1
                continue
            }
            check(restored.commits >= stored)
            guard Bool.random() else { continue }
            // Empties the log, so that the next mirror begins with a snapshot.
            let local = try Ledger.check(at: home.url)
            check(restored.commits <= local.commits)
            if restored.commits == local.commits { check(restored, equals: local) }
        }
        tally.commits = acknowledged.number
        try await place.empty()
        return tally
    }

    @Test(arguments: MirrorPlace.Kind.available)
    func `a killed restore leaves the old file or the new one, whole`(
        _ kind: MirrorPlace.Kind
    ) async throws {
        let home = try TemporaryDatabase()
        let pool = try home.openPool()
        try await pool.write { try Ledger.create($0) }
        let place = MirrorPlace(kind, in: home.directory)
        let mirror = try place.mirror(of: pool)
        let old = try await pool.write { try Ledger.commit($0, count: 100, bytes: 10_000) }
        try await mirror.flush()
        let date = Date()
        try await Task.sleep(for: .milliseconds(5))
        let new = try await pool.write { try Ledger.commit($0, count: 50, bytes: 10_000) }
        try await mirror.flush()
        await pool.close()

        let target = try TemporaryDatabase(name: "target.db")
        var seen: [Ledger.State: Int] = [:]
        var (leftovers, missing) = (0, 0)
        for _ in 0..<Self.kills(kind, usual: 8) {
            let worker = try Worker([
                "restore", place.description, target.path, "\(date.timeIntervalSince1970)",
            ])
            try await worker.kill(after: Self.moment(kind))
            let others = try target.fileNames().filter { $0 != "target.db" }
            leftovers += others.count
            // Their names tell whose they are.
            check(
                others.allSatisfy {
                    $0.hasPrefix(".securestorage-") || $0.hasPrefix("target.db.restoring-")
                }, "\(others)")
            if FileManager.default.fileExists(atPath: target.path) {
                seen[try Ledger.check(at: target.url), default: 0] += 1
            } else {
                check(seen.isEmpty)
                missing += 1
            }
            for name in others {
                try FileManager.default.removeItem(
                    at: target.directory.appendingPathComponent(name))
            }
        }
        check(Set(seen.keys).isSubset(of: [old, new]))
        SuddenDeath.report(
            "restore from \(kind): \(seen.values.sorted()) times either state, \(missing) times "
                + "none before the first, \(leftovers) leftovers")
        try await place.empty()
    }

    @Test func `a writer that is killed leaves no half object in a directory`() async throws {
        let home = try TemporaryDatabase()
        var objects = 0
        for round in 0..<Self.kills(usual: 10) {
            let directory = home.directory.appendingPathComponent("store-\(round / 50)")
            let store = DirectoryObjectStore(directory: directory)
            let prefix = "p\(round)"
            let worker = try Worker(["create", directory.path, prefix])
            // Once not before something is stored, however slow the machine is.
            while round == 0, try await store.listAll(prefix + "/").isEmpty {
                try await Task.sleep(for: .milliseconds(5))
            }
            try await worker.kill(after: .milliseconds(.random(in: 10...120)))
            let entries = try await store.listAll(prefix + "/")
            objects += entries.count
            for entry in entries {
                let bytes = try await require(store.read(entry.name))
                check(
                    bytes.count == entry.size && PatternBytes.isWhole(bytes, of: entry.name),
                    "\(entry.name)")
            }
            // One after the other, so none is missing in between.
            let numbers = entries.compactMap { Int($0.name.dropFirst(prefix.count + 1)) }
            check(numbers.sorted(), equals: Array(0..<numbers.count))
            try await store.remove(entries.map(\.name))
        }
        check(objects > 0)
        SuddenDeath.report("directory: \(objects) objects, each whole")
    }
}
