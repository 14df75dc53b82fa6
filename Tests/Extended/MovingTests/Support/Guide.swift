import Foundation
import TestSupport

/// A guide of Docs/, with the rows of its numbered tables.
struct Guide {
    let name: String
    /// The suites whose tests name the rows, as `row 12: …` or `rows R1 to R3: …`.
    let suite: String

    static let all = [
        Guide(name: "FromFMDB.md", suite: "FromFMDB"),
        Guide(name: "FromGRDB.md", suite: "FromGRDB"),
        Guide(name: "FromSQLiteSwift.md", suite: "FromSQLiteSwift"),
        Guide(name: "FromCoreData.md", suite: "FromCoreData"),
        Guide(name: "FromRealm.md", suite: "FromRealm"),
        Guide(name: "SecureVault.md", suite: "FromDuckDuckGo"),
    ]

    private static let tests = Checkout.file("Tests/Extended/MovingTests")

    /// The numbers in the first column of every table whose first column is called `#`.
    func rows() throws -> [String] {
        var rows: [String] = []
        var isNumbered = false
        for line in try Checkout.text("Docs/\(name)").components(separatedBy: "\n") {
            guard line.hasPrefix("|") else {
                isNumbered = false
                continue
            }
            let cell = line.dropFirst().prefix { $0 != "|" }.trimmingCharacters(in: .whitespaces)
            if cell == "#" {
                isNumbered = true
            } else if isNumbered, !cell.hasPrefix("-") {
                rows.append(cell)
            }
        }
        return rows
    }

    /// The rows that the names of the suite's tests begin with.
    func testedRows() throws -> [String] {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.tests.path)
            .filter { $0.hasPrefix(suite) && $0.hasSuffix(".swift") }
        let name =
            #/func `rows? (?<prefix>[A-Z]?)(?<first>\d+)(?: (?<kind>to|and) [A-Z]?(?<last>\d+))?: /#
        var rows: [String] = []
        for file in names {
            let text = try String(
                contentsOf: Self.tests.appendingPathComponent(file), encoding: .utf8)
            for line in text.split(separator: "\n") where line.contains("func `row") {
                guard let match = line.firstMatch(of: name), let first = Int(match.first) else {
                    continue
                }
                let last = match.last.flatMap { Int($0) } ?? first
                let numbers = match.kind == "and" ? [first, last] : Array(first...last)
                rows += numbers.map { "\(match.prefix)\($0)" }
            }
        }
        return rows
    }
}
