import Foundation
import SecureStoragePlatform
import SecureSync
import TestSupport

// Campaigns; each prints what has failed, and ends with 1 if anything has.
//
//     SyncSimulator simulations FIRST COUNT
//     SyncSimulator beginnings FIRST COUNT
//     SyncSimulator edges FIRST COUNT
//     SyncSimulator roles FIRST COUNT
//     SyncSimulator adversary
//     SyncSimulator verify FIRST COUNT
let arguments = Array(CommandLine.arguments.dropFirst())
let cores = ProcessInfo.processInfo.activeProcessorCount

@Sendable func say(_ text: String) { FileHandle.standardOutput.write(Data("\(text)\n".utf8)) }

/// Does pieces of work on all cores.
///
/// - Returns: How many have failed.
func run<Piece: Sendable>(
    _ pieces: [Piece], _ work: @escaping @Sendable (Piece) async -> Bool
) async -> Int {
    var (waiting, failed, done) = (pieces.makeIterator(), 0, 0)
    await withTaskGroup(of: Bool.self) { tasks in
        for _ in 0..<cores {
            if let next = waiting.next() { tasks.addTask { await work(next) } }
        }
        for await isRight in tasks {
            (done, failed) = (done + 1, failed + (isRight ? 0 : 1))
            if done % 100 == 0 { say("\(done) of \(pieces.count), \(failed) failed") }
            if let next = waiting.next() { tasks.addTask { await work(next) } }
        }
    }
    say("\(pieces.count) done, \(failed) failed")
    return failed
}

@Sendable func isRefused(everyLieTo victim: AdversaryGroup.Victim) async throws -> Bool {
    let (group, stranger) = (try await AdversaryGroup.shared, try await AdversaryGroup.stranger)
    var isRight = true
    for name in Campaign.part(of: group.ownNames) {
        let what = "\(victim), \(name.dropFirst(32))"
        do {
            var trial = try AdversaryTrial(group, group.file(of: victim))
            try await trial.lieAbout(name, flipping: { Array(0..<$0) }, stranger: stranger)
            try await trial.heal(with: [group.anna, group.ben])
            say("\(what): \(trial.lies) lies, \(trial.refusals) refused")
        } catch {
            say("\(what): failed: \(error)")
            isRight = false
        }
    }
    return isRight
}

/// Copies every object of another group into the names of a group, and shows every older state.
@Sendable func isUnharmed() async throws -> Bool {
    let (group, stranger) = (try await AdversaryGroup.shared, try await AdversaryGroup.stranger)
    var isRight = true
    func attempt(_ what: String, _ lie: () async throws -> Void) async {
        do {
            try await lie()
        } catch {
            say("\(what): failed: \(error)")
            isRight = false
        }
    }
    for name in stranger.ownNames {
        await attempt("copied \(name.dropFirst(32))") {
            try await AdversaryTrial.copy(name, of: stranger, into: group)
        }
    }
    for count in group.ownNames.indices {
        await attempt("after \(count) objects") {
            try await AdversaryTrial.goBack(group, to: count)
        }
    }
    return isRight
}

switch arguments.first {
case "simulations", "beginnings", "edges", "roles":
    let kind = arguments[0]
    guard arguments.count == 3, let first = UInt64(arguments[1]), let count = UInt64(arguments[2])
    else { exit(2) }
    let met = Locked<[SimulatedGroup.Event: [UInt64]]>([:])
    let failed = await run(Campaign.part(of: first..<(first + count))) { seed in
        var simulation = SimulatedGroup(seed: seed)
        simulation.hasEdges = kind == "edges"
        simulation.hasRoles = kind == "roles"
        defer {
            for event in simulation.seen { met.withLock { $0[event, default: []].append(seed) } }
        }
        do {
            if kind == "beginnings" {
                try await simulation.runBeginnings(3)
            } else {
                try await simulation.run(steps: 60)
            }
            return true
        } catch {
            say("seed \(seed): \(error)\n\(simulation.log.joined(separator: "\n"))")
            return false
        }
    }
    for event in SimulatedGroup.Event.allCases {
        let seeds = met.withLock { $0[event, default: []].sorted() }
        say("\(event): met by \(seeds.count) simulations, such as \(seeds.prefix(20))")
    }
    exit(failed == 0 ? 0 : 1)
case "verify":
    guard arguments.count == 3, let first = UInt64(arguments[1]), let count = UInt64(arguments[2])
    else { exit(2) }
    let found = Locked(0)
    let failed = await run(Campaign.part(of: first..<(first + count))) { seed in
        do {
            let (group, stranger) = (
                try await AdversaryGroup.shared, try await AdversaryGroup.stranger
            )
            var trial = VerifyTrial(group, stranger, seed: seed)
            if try await trial.run() { found.withLock { $0 += 1 } }
            return true
        } catch {
            say("seed \(seed): \(error)")
            return false
        }
    }
    say("\(found.withLock { $0 }) were found, the others lack nothing")
    exit(failed == 0 ? 0 : 1)
case "adversary":
    let failed = await run(AdversaryGroup.Victim.allCases + [nil]) { victim in
        do {
            guard let victim else { return try await isUnharmed() }
            return try await isRefused(everyLieTo: victim)
        } catch {
            say("\(victim.map { "\($0)" } ?? "the group"): \(error)")
            return false
        }
    }
    exit(failed == 0 ? 0 : 1)
default:
    exit(2)
}
