import Foundation

/// Builds the copy, without the mutants that do not compile.
struct Build {
    let tree: Tree
    let files: [String]

    /// Builds until the compiler refuses none of the sites that are drawn.
    ///
    /// - Parameter draw: Gets the identities of the sites that the compiler has refused.
    /// - Returns: The mutants that are in the build.
    /// - Throws: `Failure` if not a mutant, but the package does not compile.
    func run(_ draw: (Set<String>) -> [Site]) async throws -> [Mutant] {
        let refusedFile = tree.work.appendingPathComponent("refused")
        let text = (try? String(contentsOf: refusedFile, encoding: .utf8)) ?? ""
        var refused = Set(text.components(separatedBy: "\n\n").filter { !$0.isEmpty })
        while true {
            let mutants = draw(refused).enumerated().map { Mutant(number: $0, site: $1) }
            try tree.write(files, mutants)
            let log = try await compile()
            guard let log else { return mutants }
            let culprits = Self.culprits(of: log, root: tree.copy.path, mutants)
            guard !culprits.isEmpty else {
                throw Failure("the copy does not compile: see \(logFile.path)")
            }
            note("\(culprits.count) mutants do not compile; building without them")
            refused.formUnion(culprits.map(\.site.identity))
            try refused.sorted().joined(separator: "\n\n")
                .write(to: refusedFile, atomically: true, encoding: .utf8)
        }
    }

    private var logFile: URL { tree.work.appendingPathComponent("build.log") }

    /// Returns nil, or what the compiler said if it failed.
    private func compile() async throws -> String? {
        let end = try await Child.run(
            ["bash", "-c", "swift build --build-tests $(Scripts/build-flags)"],
            environment: ["SECURESTORAGE_TESTS": "all+traits", "SWIFT_DETERMINISTIC_HASHING": "1"],
            in: tree.copy.path, output: logFile.path)
        if end == .exited(0) { return nil }
        return try String(contentsOf: logFile, encoding: .utf8)
    }

    /// Returns the mutants in the lines of errors or, where a line has none, the nearest one that
    /// follows in the file, since an error may be reported for a whole expression.
    static func culprits(of log: String, root: String, _ mutants: [Mutant]) -> Set<Mutant> {
        let mutants = Dictionary(grouping: mutants, by: \.site.file)
        var culprits: Set<Mutant> = []
        for text in log.split(separator: "\n") {
            let parts = text.split(separator: ":", maxSplits: 3)
            guard parts.count == 4, parts[3].hasPrefix(" error:"), parts[0].hasPrefix(root + "/"),
                let line = Int(parts[1]),
                let candidates = mutants[String(parts[0].dropFirst(root.utf8.count + 1))]
            else { continue }
            let there = candidates.filter { $0.site.lines.contains(line) }
            func distance(_ mutant: Mutant) -> Int {
                let first = mutant.site.lines.lowerBound
                return first > line ? first - line : Int(Int32.max) - first
            }
            culprits.formUnion(
                there.isEmpty
                    ? candidates.min { distance($0) < distance($1) }.map { [$0] } ?? [] : there)
        }
        return culprits
    }
}

/// Tells the caller what happens.
func note(_ text: String) {
    FileHandle.standardError.write(Data("mutants: \(text)\n".utf8))
}
