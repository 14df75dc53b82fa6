import Foundation
import SecureSync
import TestSupport

/// A store with damages that a seed chooses, and what ``SyncEngine/verify()`` says of it.
struct VerifyTrial {
    let group: AdversaryGroup
    let stranger: AdversaryGroup
    var random: SplitMix64
    /// What this store shows in the place of its objects.
    private(set) var shown: [String: Data?] = [:]
    private(set) var log: [String] = []

    init(_ group: AdversaryGroup, _ stranger: AdversaryGroup, seed: UInt64) {
        (self.group, self.stranger) = (group, stranger)
        random = SplitMix64(seed: seed)
    }

    private mutating func below(_ limit: Int) -> Int { Int(random.next() % UInt64(limit)) }

    /// Damages one to three objects, lets Anna verify, who knows all of the group, and compares.
    ///
    /// - Returns: Whether she has found something.
    /// - Throws: ``AdversaryTrial/Broken`` if she has, and nothing is missing, or the other way.
    mutating func run() async throws -> Bool {
        let names = group.ownNames
        for _ in 0..<(1 + below(3)) { damage(names[below(names.count)], of: names) }
        shown = shown.filter { $0.value != group.objects.read($0.key) }
        let objects = SimulatedObjects(group.objects.all)
        let anna = try SimulatedDevice(copyOf: group.anna, group.anna.name, in: objects)
        anna.store.show(shown)
        let problems = try await anna.engine.verify().problems
        let (needed, free) = kinds(of: names)
        if problems.isEmpty, let name = shown.keys.sorted().first(where: needed.contains) {
            throw AdversaryTrial.Broken(
                description: "all sound, without \(name): \(log.joined(separator: ", "))")
        }
        if !problems.isEmpty, free.isSuperset(of: shown.keys) {
            throw AdversaryTrial.Broken(
                description: "nothing is missing: \(problems): \(log.joined(separator: ", "))")
        }
        if problems.isEmpty { try await join() }
        return !problems.isEmpty
    }

    private mutating func damage(_ name: String, of names: [String]) {
        guard var bytes = group.objects.read(name) else { return }
        let what: String
        switch below(6) {
        case 0:
            let place = below(bytes.count)
            bytes[place] ^= 1 << UInt8(below(8))
            (what, shown[name]) = ("byte \(place) flipped", bytes)
        case 1:
            let count = below(bytes.count)
            (what, shown[name]) = ("cut to \(count)", bytes.prefix(count))
        case 2:
            (what, shown[name]) = ("longer", bytes + [UInt8(below(256))])
        case 3:
            let other = names[below(names.count)]
            (what, shown[name]) = ("shown as \(other.dropFirst(32))", group.objects.read(other))
        case 4:
            let other = stranger.ownNames[below(stranger.ownNames.count)]
            (what, shown[name]) = (
                "another group's \(other.dropFirst(32))", stranger.objects.read(other)
            )
        default:
            (what, shown[name]) = ("hidden", Data?.none)
        }
        log.append("\(name.dropFirst(32)) \(what)")
    }

    /// The names of the objects that the group must have, and of those that it no longer uses:
    /// older snapshots.
    ///
    /// Neither are batches that are hidden with all before them: they may be in the newest
    /// snapshot.
    private func kinds(of names: [String]) -> (needed: Set<String>, free: Set<String>) {
        func isNewest(_ name: String, _ kind: String, _ folder: Int) -> Bool {
            guard let newest = names.last(where: { $0.dropFirst(32).hasPrefix(kind) }) else {
                return false
            }
            return name.prefix(folder) == newest.prefix(folder)
        }
        var (needed, free): (Set<String>, Set<String>) = ([], [])
        var isAfterGap: [Substring: Bool] = [:]
        for name in names.sorted() {
            switch name.dropFirst(32).prefix(3) {
            case "/s/" where !isNewest(name, "/s/", name.count),
                "/p/" where !isNewest(name, "/p/", 35 + 32):
                free.insert(name)
            case "/d/":
                let log = name.dropLast(17)
                let isHidden = shown[name] == .some(nil)
                if !isHidden { isAfterGap[log] = true }
                if isAfterGap[log] == true { needed.insert(name) }
            default: needed.insert(name)
            }
        }
        return (needed, free)
    }

    /// A newcomer reads all of a store that is sound.
    private func join() async throws {
        var trial = try AdversaryTrial(group, group.dora)
        if let refusal = try await trial.lie(shown, "sound") {
            throw AdversaryTrial.Broken(
                description: "sound, but a newcomer cannot read it: \(refusal): \(log)")
        }
        let (rows, all) = (try trial.victim.rows(), try group.anna.rows())
        guard rows == all else {
            throw AdversaryTrial.Broken(description: "sound, but a newcomer lacks rows: \(log)")
        }
    }
}
