import TestSupport
import Testing

/// Each row of the guides' tables is what a test shows.
struct GuideTests {
    @Test(arguments: Guide.all.map(\.name))
    func `each numbered row of a guide has a test that names it, and no test names another`(
        _ name: String
    ) throws {
        let guide = try require(Guide.all.first { $0.name == name })
        let rows = try guide.rows()
        check(!rows.isEmpty)
        check(Set(rows).count, equals: rows.count, "a number occurs twice")
        let tested = try Set(guide.testedRows())
        let missing = rows.filter { !tested.contains($0) }
        check(missing, equals: [], "without a test")
        check(tested.subtracting(rows).sorted(), equals: [], "tested, and not in the guide")
    }
}
