import Testing

/// Each row of the guides' tables is what a test shows.
@Suite struct GuideTests {
    @Test(arguments: Guide.all.map(\.name))
    func `each numbered row of a guide has a test that names it, and no test names another`(
        _ name: String
    ) throws {
        let guide = try #require(Guide.all.first { $0.name == name })
        let rows = try guide.rows()
        #expect(!rows.isEmpty)
        #expect(Set(rows).count == rows.count, "a number occurs twice")
        let tested = try Set(guide.testedRows())
        let missing = rows.filter { !tested.contains($0) }
        #expect(missing == [], "without a test")
        #expect(tested.subtracting(rows).sorted() == [], "tested, and not in the guide")
    }
}
