import Foundation
import SecureStorage
import SecureSync
import Testing
import TestSupport

@testable import SyncSimulator
@testable import SecureSyncTests

/// A store that lies: it shows objects that nobody has made so, or not all that there are.
///
/// Of each kind of object one, and the store at a few times; `make campaign NAME=sync-adversary`
/// has all of them, and changes every byte.
struct SyncAdversaryTests {
    private let group: AdversaryGroup

    init() async throws { group = try await AdversaryGroup.shared }

    @Test(arguments: AdversaryGroup.Victim.allCases)
    func `a damaged, swapped or hidden object is refused, and harms nobody when it is back`(
        _ kind: AdversaryGroup.Victim
    ) async throws {
        let stranger = try await AdversaryGroup.stranger
        let names = group.newestOfEachKind
        check(names.count, equals: 4)
        var refusals = 0
        for name in names {
            do {
                var trial = try AdversaryTrial(group, group.file(of: kind))
                // Of the header, the content and the signature.
                try await trial.lieAbout(
                    name, flipping: { [10, $0 / 2, $0 - 1] }, stranger: stranger)
                refusals += trial.refusals
                try await trial.heal(with: [group.anna, group.ben])
            } catch {
                Issue.record("\(kind) \(name.dropFirst(32)): \(error)")
            }
        }
        check(refusals > names.count)
    }

    /// `make campaign NAME=sync-verify` has thousands.
    @Test func `verify finds what is missing, and nothing else`() async throws {
        let stranger = try await AdversaryGroup.stranger
        var found = 0
        for seed in 1...20 as ClosedRange<UInt64> {
            var trial = VerifyTrial(group, stranger, seed: seed)
            do {
                if try await trial.run() { found += 1 }
            } catch {
                Issue.record("seed \(seed): \(error)")
            }
        }
        check(found > 10 && found < 20)
    }

    @Test func `objects that are copied into another group's names change nothing there`()
        async throws
    {
        let stranger = try await AdversaryGroup.stranger
        for name in stranger.newestOfEachKind {
            try await AdversaryTrial.copy(name, of: stranger, into: group)
        }
    }

    @Test func `an older state of the store is an error to who knows better, and nothing is lost`()
        async throws
    {
        let count = group.ownNames.count
        for older in [0, 1, count / 2, count - 1] {
            try await AdversaryTrial.goBack(group, to: older)
        }
    }

    @Test func `a store that shows an older snapshot as the newest one is found out`() async throws
    {
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
        // Shorter ones are in some ciphertext by chance.
        let words =
            (["canary", "device-", "after"]
            + SimulatedDevice.columns.flatMap { [$0.key] + $0.value }).filter { $0.count >= 5 }
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
