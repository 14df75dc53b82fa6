import Foundation

/// The verdicts, as a text and in a form from which the next run goes on.
actor Report {
    private let mutants: [Mutant]
    private let remarks: String
    private var verdicts: [String: Trial.Verdict]
    private let report: URL
    private let results: URL

    /// - Parameters:
    ///   - mutants: All, also those of other parts, whose verdicts are there already.
    ///   - tree: The copy, beside which the files are.
    ///   - remarks: What is to be said before the table.
    ///   - keeping: Which verdicts of the last run hold.
    init(
        _ mutants: [Mutant], tree: Tree, remarks: String, keeping: (Trial.Verdict) -> Bool
    ) {
        self.mutants = mutants
        self.remarks = remarks
        report = tree.work.appendingPathComponent("report")
        results = tree.work.appendingPathComponent("results")
        let known = try? JSONDecoder().decode(
            [String: Trial.Verdict].self, from: Data(contentsOf: results))
        let identities = Set(mutants.map(\.site.identity))
        verdicts = (known ?? [:]).filter { identities.contains($0.key) && keeping($0.value) }
    }

    /// The mutants that have no verdict yet.
    var waiting: [Mutant] { mutants.filter { verdicts[$0.site.identity] == nil } }

    /// The share of those killed, in percent.
    var score: Double { Self.share(verdicts.values.count { $0.isKilled }, of: verdicts.count) }

    private static func share(_ count: Int, of all: Int) -> Double {
        100 * Double(count) / Double(max(all, 1))
    }

    func add(_ verdict: Trial.Verdict, of mutant: Mutant) throws {
        verdicts[mutant.site.identity] = verdict
        try write()
    }

    /// Writes both files: at each verdict, since a run may be ended at any time.
    func write() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(verdicts).write(to: results, options: .atomic)
        try text.write(to: report, atomically: true, encoding: .utf8)
    }

    // MARK: - Text

    var text: String {
        let survivors = list("Survivors") {
            guard case .survived(let tests, let leftOut) = $0 else { return nil }
            let slow = leftOut > 0 ? "; \(leftOut) slower ones were left out" : ""
            return "\(tests) tests that reach it passed\(slow)"
        }
        let uncovered = list("Not covered") { $0 == .notCovered ? "no test reaches it" : nil }
        return remarks + "\n\n" + table + survivors + uncovered
    }

    private var table: String {
        var rows = [["library", "mutants", "killed", "timed out", "survived", "not covered", "%"]]
        let decided = mutants.compactMap { mutant in
            verdicts[mutant.site.identity].map { (library: mutant.site.library, verdict: $0) }
        }
        let libraries = Set(decided.map(\.library)).sorted()
        for library in libraries.map(Optional.some) + [nil] {
            let verdicts = decided.filter { library == nil || $0.library == library }.map(\.verdict)
            let timedOut = verdicts.count { $0 == .timedOut }
            let notCovered = verdicts.count { $0 == .notCovered }
            let killed = verdicts.count { $0.isKilled }
            let counts = [
                verdicts.count, killed - timedOut, timedOut, verdicts.count - killed - notCovered,
                notCovered,
            ]
            let share = String(format: "%.1f", Self.share(killed, of: verdicts.count))
            rows.append([library ?? "all"] + counts.map(String.init) + [share])
        }
        return rows.map { row in
            row.enumerated().map { column, text in
                let space = String(repeating: " ", count: (column == 0 ? 23 : 13) - text.count)
                return column == 0 ? text + space : space + text
            }
            .joined() + "\n"
        }
        .joined()
    }

    /// Paragraphs as in the file of equivalent mutants, but with the line's number.
    private func list(_ title: String, _ remark: (Trial.Verdict) -> String?) -> String {
        let paragraphs = mutants.compactMap { mutant -> String? in
            guard let verdict = verdicts[mutant.site.identity], let remark = remark(verdict) else {
                return nil
            }
            let site = mutant.site
            return """
                \(site.file):\(site.lines.lowerBound)
                    \(site.sourceLine)
                    \(site.effect)
                    (\(remark))
                """
        }
        guard !paragraphs.isEmpty else { return "" }
        return "\n\(title)\n\n" + paragraphs.joined(separator: "\n\n") + "\n"
    }
}
