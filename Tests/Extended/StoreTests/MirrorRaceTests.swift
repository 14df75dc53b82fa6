import Foundation
import StoreChecks
import SecureMirror
import SecureStorage
import SecureSync
import Testing
import TestSupport

/// Mirrors that write under one name at the same time.
struct MirrorRaceTests {
    /// The racing mirrors.
    enum Race: CaseIterable, Sendable {
        /// Three copies of a file, each with its own commits.
        case copies
        /// A copy that begins while the first one writes.
        case takeover
        /// Two mirrors of one pool.
        case samePool
        /// Two pools of one file.
        case sameFile
        /// A mirror begins again and again, while another one does.
        case restarts
        /// Three processes with one file.
        case processes
    }

    /// What a racer has come to.
    private struct Outcome: Sendable {
        /// The state that was stored last.
        var stored: Ledger.State?
        var error: (any Error)?
    }

    /// The rounds of each race; all of a store's are the number of `make campaign NAME=mirror`.
    private static let rounds =
        (environmentNumber("SECURESTORAGE_RACES", default: 18) - 1) / Race.allCases.count + 1

    @Test(arguments: MirrorPlace.Kind.available, Race.allCases)
    func `of mirrors that race for one name, one continues, and its state is restored`(
        _ kind: MirrorPlace.Kind, _ race: Race
    ) async throws {
        var stopped = 0
        for round in 0..<Self.rounds {
            let home = try TemporaryDatabase()
            try Ledger.create(at: home)
            let place = MirrorPlace(kind, in: home.directory)
            if race == .processes {
                try await raceOfProcesses(home, place)
            } else {
                stopped += try await self.race(race, home, place, round)
            }
            try await place.empty()
        }
        SuddenDeath.report(
            "mirror: \(Self.rounds) races of \(race) over \(kind), \(stopped) mirrors stopped")
    }

    /// Runs one race, and returns how many mirrors were stopped.
    private func race(
        _ race: Race, _ home: TemporaryDatabase, _ place: MirrorPlace, _ round: Int
    ) async throws -> Int {
        let isCopied = race == .copies || race == .takeover
        let homes = try isCopied ? (0..<3).map { _ in try home.copiedFiles() } : [home]
        var pools = try homes.map { try $0.openPool() }
        switch race {
        case .samePool: pools += [pools[0]]
        case .sameFile, .restarts: pools.append(try home.openPool())
        default: break
        }
        let all = pools
        let outcomes = await withTaskGroup(of: Outcome.self) { group in
            for (index, pool) in all.enumerated() {
                let delay = race == .takeover ? index * Int.random(in: 0...8) : 0
                group.addTask {
                    try? await Task.sleep(for: .milliseconds(delay))
                    return await Self.work(pool, place, restarts: race == .restarts)
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for error in outcomes.compactMap(\.error) {
            check(error as? MirrorError, equals: .otherMirror(place.name), "round \(round)")
        }
        let winners = outcomes.filter { $0.error == nil }.compactMap(\.stored)
        check(!winners.isEmpty, "round \(round): all have stopped")
        let restored = try await place.restored()
        if isCopied {
            // Some may have ended before the last one began.
            check(winners.contains(restored), "round \(round): \(restored) of \(winners)")
        } else {
            let commits = outcomes.compactMap { $0.stored?.commits }.max() ?? 0
            check(restored.commits >= commits, "round \(round): \(restored), not \(commits)")
        }
        for pool in pools { await pool.close() }
        return outcomes.filter { $0.error != nil }.count
    }

    private static func work(
        _ pool: SecureDatabasePool, _ place: MirrorPlace, restarts: Bool
    ) async -> Outcome {
        var outcome = Outcome()
        do {
            var mirror = try place.mirror(of: pool)
            for _ in 0..<5 {
                // At least this state, if others commit as well.
                let state = try await pool.write { try Ledger.commit($0) }
                if restarts, Bool.random() { mirror = try place.mirror(of: pool) }
                try await mirror.flush()
                outcome.stored = state
            }
        } catch {
            outcome.error = error
        }
        return outcome
    }

    private func raceOfProcesses(_ home: TemporaryDatabase, _ place: MirrorPlace) async throws {
        let workers = try (0..<3).map { _ in
            try Worker(["race", home.path, place.description, "4"])
        }
        for worker in workers { try await worker.finish() }
        _ = try await place.restored()
        // Whoever begins next continues.
        let pool = try home.openPool()
        let state = try await pool.write { try Ledger.commit($0) }
        try await place.mirror(of: pool).flush()
        try await check(place.restored(), equals: state)
        await pool.close()
    }
}
