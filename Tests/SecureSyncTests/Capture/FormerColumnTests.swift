import SecureStorage
import SecureSync
import TestSupport
import Testing

/// Changes of members that know a column under its former name.
struct FormerColumnTests {
    private let shape = TableShape(
        name: "note", number: 1, key: ["id"], groups: [["text"], ["feeling"]],
        formerly: ["mood": "feeling"])

    private func change(_ columnGroups: (String, String, UInt64)...) -> RowChange {
        RowChange(
            table: "note", key: [.text("a")],
            incarnation: .init(timestamp: timestamp(1), isAlive: true),
            columnGroups: columnGroups.map {
                .init(
                    columns: [$0], values: [$1 == "" ? .null : .text($1)], timestamp: timestamp($2))
            })
    }

    private func timestamp(_ time: UInt64) -> Timestamp {
        Timestamp(time: time, member: .numbered(1))
    }

    @Test func `a value under a former name is one of the column`() {
        check(
            shape.renamed(change(("text", "x", 1), ("MOOD", "calm", 2))),
            equals: change(("text", "x", 1), ("feeling", "calm", 2)))
    }

    @Test
    func `of values under both names the later counts, and of equal times the present name's`() {
        check(
            shape.renamed(change(("mood", "", 1), ("text", "x", 1), ("feeling", "calm", 1))),
            equals: change(("text", "x", 1), ("feeling", "calm", 1)))
        check(
            shape.renamed(change(("feeling", "calm", 1), ("mood", "late", 2))),
            equals: change(("feeling", "late", 2)))
    }

    @Test func `a change without former names stays as it is`() {
        let change = change(("feeling", "calm", 1), ("other", "x", 2))
        check(shape.renamed(change), equals: change)
    }
}
