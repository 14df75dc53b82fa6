import Foundation
import SecureStorage
import SecureSync
import TestSupport
import Testing
@testable import SecureSyncTests

/// Random work of members that are merged in random orders; `SECURESTORAGE_MERGES` sets how
/// many seeds.
struct MergeSimulationTests {
    @Test func `members converge, and every state on the way is the one of the definitions`()
        throws
    {
        var met: Set<Standing> = []
        for seed in Campaign.seeds(environmentNumber("SECURESTORAGE_MERGES", default: 8)) {
            guard try Self.run(seed, &met) else { return }
        }
        // Else the simulations say nothing of what they are made for.
        check(met, equals: [.refused, .orphan, .duplicate, .waiting, .visible])
    }

    @Test func `a row without its parent that breaks a CHECK is refused, whatever came first`()
        throws
    {
        let simulation = try MergeSimulation(members: 3, clockOffsets: [0, 0, 0])
        try simulation.write(0, ["INSERT INTO note (id) VALUES ('n')"])
        try simulation.deliverAll { _ in 0 }
        try simulation.write(1, ["DELETE FROM note"])
        try simulation.write(0, ["INSERT INTO item (id, note, low, high) VALUES ('i', 'n', 1, 5)"])
        try simulation.deliver(from: 0, to: 2)
        try simulation.write(0, ["UPDATE item SET low = 4"])
        try simulation.write(2, ["UPDATE item SET high = 2"])
        for (sender, member) in [(0, 1), (0, 1), (2, 1)] {
            try simulation.deliver(from: sender, to: member)
            try check(simulation.look(member, "member \(member) after \(sender)"))
        }
        try simulation.deliverAll { _ in 0 }
        for member in 0..<3 { try check(simulation.look(member, "the end, member \(member)")) }
        let heldBack = try simulation.files[1].capture.heldBackRows(in: simulation.files[1].db)
        check(heldBack.map(\.standing), equals: [.refused])
    }

    private static func run(_ seed: UInt64, _ met: inout Set<Standing>) throws -> Bool {
        var random = SplitMix64(seed: seed)
        let members = Int.random(in: 2...4, using: &random)
        let simulation = try MergeSimulation(
            members: members,
            clockOffsets: (0..<members).map { _ in .random(in: -100_000...100_000, using: &random) }
        )
        for step in 0..<Int.random(in: 20...60, using: &random) {
            let member = Int.random(in: 0..<members, using: &random)
            let senders = simulation.senders(to: member)
            if let sender = senders.randomElement(using: &random), Bool.random(using: &random) {
                try simulation.deliver(from: sender, to: member)
            } else {
                let count = Int.random(in: 1...5, using: &random)
                try simulation.write(
                    member, (0..<count).map { _ in statement(&random) },
                    restarting: Int.random(in: 0..<4, using: &random) == 0)
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                met.formUnion(
                    try MergeSimulation.rows(of: simulation.files[member]).values.map(\.standing))
                guard try simulation.look(member, "seed \(seed), step \(step), member \(member)")
                else {
                    return false
                }
            }
        }
        for member in 0..<members {
            met.formUnion(
                try MergeSimulation.rows(of: simulation.files[member]).values.map(\.standing))
        }
        try simulation.deliverAll { Int.random(in: 0..<$0, using: &random) }
        for member in 0..<members {
            guard try simulation.look(member, "seed \(seed), the end, member \(member)") else {
                return false
            }
        }
        return true
    }

    static func statement(_ random: inout SplitMix64) -> String {
        func id() -> String { "'\(Int.random(in: 0..<6, using: &random))'" }
        /// One of the first rows; NULL if there are less.
        func row(_ table: String) -> String {
            let place = Int.random(in: 0..<3, using: &random)
            return "(SELECT id FROM \(table) ORDER BY id LIMIT 1 OFFSET \(place))"
        }
        func name() -> String {
            ["'a'", "'A'", "'b'", "'c'", "NULL"].randomElement(using: &random) ?? "NULL"
        }
        func number() -> String { "\(Int.random(in: 0..<4, using: &random))" }
        func maybe(_ text: String) -> String {
            Int.random(in: 0..<5, using: &random) == 0 ? "NULL" : text
        }
        switch Int.random(in: 0..<20, using: &random) {
        case 0, 1: return "INSERT INTO folder VALUES (\(id()), \(name()), \(number()))"
        case 2: return "UPDATE folder SET name = \(name()) WHERE id = \(row("folder"))"
        case 3: return "UPDATE folder SET size = \(number()) WHERE id = \(row("folder"))"
        case 4: return "DELETE FROM folder WHERE id = \(row("folder"))"
        case 5, 6:
            return
                "INSERT INTO note VALUES (\(id()), \(maybe(row("folder"))), \(name()), \(name()))"
        case 7:
            return "UPDATE note SET folder = \(maybe(row("folder"))) WHERE id = \(row("note"))"
        case 8:
            return "UPDATE note SET title = \(name()), slug = \(name()) WHERE id = \(row("note"))"
        case 9: return "DELETE FROM note WHERE id = \(row("note"))"
        case 10, 11:
            return
                "INSERT INTO item VALUES (\(id()), \(maybe(row("note"))), \(maybe(row("item"))), "
                + "0, \(number()), \(name()))"
        case 12, 13: return "UPDATE item SET low = \(number()) WHERE id = \(row("item"))"
        case 14, 15: return "UPDATE item SET high = \(number()) WHERE id = \(row("item"))"
        case 16:
            return
                "UPDATE item SET peer = \(maybe(row("item"))), place = \(name()) WHERE id = \(row("item"))"
        case 17: return "DELETE FROM item WHERE id = \(row("item"))"
        case 18: return "INSERT OR REPLACE INTO tag VALUES (\(id()), \(maybe(name())))"
        default:
            return Bool.random(using: &random)
                ? "REPLACE INTO folder VALUES (\(id()), \(name()), \(number()))"
                : "REPLACE INTO note VALUES (\(id()), \(maybe(row("folder"))), \(name()), \(name()))"
        }
    }
}
