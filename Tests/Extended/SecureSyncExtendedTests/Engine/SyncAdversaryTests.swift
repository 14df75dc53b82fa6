import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

@testable import SyncWorlds
@testable import SecureSyncTests

/// A store that lies: it shows objects that nobody has made so, or not all that there are.
///
/// `make campaign NAME=sync-adversary` changes every byte.
struct SyncAdversaryTests {
    /// Where bytes are flipped: the version, the rest of the header, the content, the signature.
    private static func places(_ count: Int) -> [Int] {
        Set([0, 3, 10, 30, 43, 51, 60, 100, count / 2, count - 1]).filter { $0 < count }.sorted()
    }

    @Test(arguments: AdversaryGroup.Victim.allCases)
    func `a damaged, swapped or hidden object is refused, and harms nobody when it is back`(
        _ kind: AdversaryGroup.Victim
    ) async throws {
        let group = try await AdversaryGroup(in: WorldObjects(), mark: "canary")
        let stranger = try await AdversaryGroup(in: WorldObjects(), mark: "stranger")
        var (lies, refusals) = (0, 0)
        for name in group.ownNames {
            let place = "\(kind) \(name.dropFirst(32))"
            do {
                var trial = try AdversaryTrial(group, group.file(of: kind))
                try await trial.lieAbout(name, flipping: Self.places, stranger: stranger)
                (lies, refusals) = (lies + trial.lies, refusals + trial.refusals)
                try await trial.heal(with: [group.anna, group.ben])
            } catch {
                Issue.record("\(place): \(error)")
            }
        }
        check(refusals > group.ownNames.count)
        print("\(kind): \(group.ownNames.count) objects, \(lies) lies, \(refusals) refused")
    }

    @Test func `objects that are copied into another group's names change nothing there`()
        async throws
    {
        let group = try await AdversaryGroup(in: WorldObjects(), mark: "canary")
        let target = try await AdversaryGroup(in: WorldObjects(), mark: "target")
        // Anna's own log is not hers any more if it goes on without her: she would be a copy.
        let log = try await "/d/\(AdversaryGroup.id(of: target.ben))"
        func place(_ name: String) -> String? {
            let isBatch = name.dropFirst(32).hasPrefix("/d/")
            let kind = isBatch ? log[...] : name.dropFirst(32).prefix(3)
            guard let last = target.ownNames.filter({ $0.dropFirst(32).hasPrefix(kind) }).max(),
                let number = UInt64(last.suffix(16), radix: 16)
            else { return nil }
            let next = String(number + 1, radix: 16)
            return last.dropLast(16) + String(repeating: "0", count: 16 - next.count) + next
        }
        let rows = try target.anna.rows()
        for name in group.ownNames {
            do {
                var trial = try AdversaryTrial(target, target.anna)
                guard let place = place(name) else { continue }
                try await trial.lie([place: group.objects.read(name)], "copied")
                try check(trial.victim.rows(), equals: rows)
                try await trial.heal(with: [target.ben, target.dora])
            } catch {
                Issue.record("\(name.dropFirst(32)): \(error)")
            }
        }
    }

    @Test func `an older state of the store is an error to who knows better, and nothing is lost`()
        async throws
    {
        let group = try await AdversaryGroup(in: WorldObjects(), mark: "canary")
        let names = group.ownNames
        for count in names.indices {
            do {
                var trial = try AdversaryTrial(group, group.anna)
                let before = try trial.victim.rows()
                let hidden = Dictionary(
                    uniqueKeysWithValues: names[count...].map { ($0, Data?.none) })
                let error = try await trial.lie(hidden, "older")
                check(error != nil, "after \(count): without \(names[count].dropFirst(32))")
                try check(trial.victim.rows(), equals: before)
                try await trial.victim.queue.write {
                    try $0.executeStatements("UPDATE pair SET token = 3 WHERE id LIKE 'bf_'")
                }
                let edited = try trial.victim.rows()
                // It stays so after a restart, and what is written meanwhile is not lost.
                try trial.victim.killAndReopen()
                await #expect(throws: SyncError.self) { try await trial.victim.engine.syncOnce() }
                try check(trial.victim.rows(), equals: edited)
                try await trial.heal(with: [group.ben])
                try check(trial.victim.rows(), equals: edited)
            } catch {
                Issue.record("after \(count) objects: \(error)")
            }
        }
    }

    @Test func `a store that shows an older snapshot as the newest one is found out`() async throws
    {
        let group = try await AdversaryGroup(in: WorldObjects(), mark: "canary")
        var trial = try AdversaryTrial(group, group.anna)
        let newest = try require(group.names("/s/", group.ownNames).last)
        let error = try await trial.lie([newest: Data?.none], "older")
        guard case .storeHasForgotten = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await trial.heal(with: [group.ben])
    }

    @Test func `the store never sees a value, nor the name of a table, a column or a device`()
        async throws
    {
        let group = try await AdversaryGroup(in: WorldObjects(), mark: "canary")
        // Shorter ones are in some ciphertext by chance.
        let words =
            (["canary", "device-", "after"]
            + WorldDevice.columns.flatMap { [$0.key] + $0.value }).filter { $0.count >= 5 }
        check(Set(words).isSuperset(of: ["parent", "child", "setting", "token", "place"]))
        let rows = Data(try group.anna.rows().joined().utf8)
        check(rows.range(of: Data("canary".utf8)) != nil)
        check(group.anna.name.contains("device-canary"))
        for (name, bytes) in group.objects.all {
            for word in words {
                let forms = [Data(word.utf8), Data(word.utf16.flatMap { [UInt8($0), 0] })]
                for form in forms where bytes.range(of: form) != nil {
                    Issue.record("\(name) has \"\(word)\"")
                }
                check(!name.contains(word))
            }
        }
    }
}
