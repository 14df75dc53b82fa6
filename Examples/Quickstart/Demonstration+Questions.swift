extension Demonstration {
    /// Queries the database, and checks the first two answers against the list in memory; the third
    /// needs the index.
    mutating func askQuestions() throws {
        let database = database
        let count = 10
        let words = "compress*"
        let (largest, needed, matches) = try step("ask three questions") {
            try (
                database.largestPackages(count), database.mostNeededPackages(count),
                database.search(words, limit: count)
            )
        } outcome: {
            "\($0.0.count) + \($0.1.count) + \($0.2.best.count) rows"
        }
        try show(largest)
        try show(needed)
        try show(matches, of: words)

        let sizes = list.packages.compactMap(\.installedSize).sorted(by: >)
        try expect(
            largest.map(\.kibibytes) == Array(sizes.prefix(count)),
            "the largest packages are the largest of the list")
        var dependents: [String: Int] = [:]
        for name in list.packages.flatMap(\.dependencies) { dependents[name, default: 0] += 1 }
        try expect(
            needed.map(\.dependents) == Array(dependents.values.sorted(by: >).prefix(count)),
            "the packages most depended upon are those of the list")
    }

    private func show(_ rows: [PackageDatabase.Largest]) throws {
        var table = Table(("Package", .left), ("Size", .right), ("What it is", .left))
        for row in rows {
            table.add(row.name, Units.kibibytes(row.kibibytes), row.summary)
        }
        try report.heading("The largest packages")
        try report.table(table)
    }

    private func show(_ rows: [PackageDatabase.MostNeeded]) throws {
        var table = Table(("Package", .left), ("Needed by", .right), ("What it is", .left))
        for row in rows {
            table.add(row.name, Units.count(row.dependents), row.summary ?? "(not in the list)")
        }
        try report.heading("The packages that most others depend on")
        try report.table(table)
    }

    private func show(_ matches: (total: Int, best: [PackageDatabase.Match]), of words: String)
        throws
    {
        var table = Table(("Package", .left), ("Score", .right), ("In its description", .left))
        for match in matches.best {
            table.add(match.name, Units.decimal(match.score), match.snippet)
        }
        try report.heading(
            "Full-text search for \(words): \(Units.count(matches.total, "package")), "
                + "best first")
        try report.table(table)
    }
}
