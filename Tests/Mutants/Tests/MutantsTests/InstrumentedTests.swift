import Testing

@testable import Mutants

struct InstrumentedTests {
    @Test func `all mutants of a source are in it together`() {
        let source = "if a < 1 { b() }\n"
        let mutants = SiteFinder.sites(in: source, file: "").enumerated().map {
            Mutant(number: $0, site: $1)
        }
        #expect(mutants.map(\.site.rule) == [.boundary, .condition, .integer, .call])
        #expect(
            instrumented(source, mutants) == """
                if (isMutant(0) ? (a <= 1) : ((isMutant(1) != \
                (a < (isMutant(2) ? (2) : (1)))))) { if !isMutant(3) { b() } }

                """)
    }

    @Test func `lines keep their numbers, and texts their characters`() {
        let source = "let ä = \"ü\"\n    && b  // é\n    && c\nf(ä)\n"
        let mutants = SiteFinder.sites(in: source, file: "").enumerated().map {
            Mutant(number: $0, site: $1)
        }
        let result = instrumented(source, mutants).split(separator: "\n")
        #expect(result.count == 4)
        #expect(result.last == "if !isMutant(\(mutants.count - 1)) { f(ä) }")
    }

    @Test func `the mutants in the line of an error are those that do not compile`() {
        let source = "let a = b + c\nlet d = 1\nlet e = f(\n    g < h)\n"
        let mutants = SiteFinder.sites(in: source, file: "Sources/F.swift").enumerated().map {
            Mutant(number: $0, site: $1)
        }
        func culprits(_ log: String) -> [Rule] {
            Build.culprits(of: log, root: "/tree", mutants).map(\.site.rule)
        }
        #expect(culprits("/tree/Sources/F.swift:1:9: error: no") == [.arithmetic])
        #expect(culprits("/tree/Sources/F.swift:3:9: error: no") == [.boundary])
        #expect(culprits("/tree/Sources/F.swift:1:9: warning: no") == [])
        #expect(culprits("/tree/Sources/G.swift:1:9: error: no") == [])
    }

    @Test func `a sample stays the same when other sites are added`() {
        func sites(_ range: Range<Int>) -> [Site] {
            range.flatMap {
                SiteFinder.sites(in: "let a = \($0) ", file: "Sources/Library/\($0).swift")
            }
        }
        let few = Sample(of: sites(0..<1000), count: 100, seed: 1).sites
        let more = Sample(of: sites(0..<1010), count: 100, seed: 1).sites
        #expect(few.count == 100)
        #expect(Set(few).subtracting(more).count < 5)
        #expect(Sample(of: sites(0..<1000), count: 100, seed: 2).sites != few)
    }

    @Test func `a new library has mutants, the tool and the test kits have none`() {
        let files = [
            "Package.swift", "Sources/New/A.swift", "Sources/SomeTool/B.swift",
            "Sources/KeysTestKit/C.swift", "Sources/CSource/source.c",
            "Sources/Guide/Guide.docc/D.swift", "Tests/NewTests/E.swift",
        ]
        #expect(Tree.libraries(files) == ["New"])
    }

    @Test func `an equivalent mutant needs a reason`() throws {
        let entry = "# about\n\nSources/F.swift\n    let d = 1\n    integer: 2 for 1"
        #expect(throws: Failure.self) { try EquivalentMutants(entry) }
        let known = try EquivalentMutants(entry + "\n    Nothing reads it.\n").identities
        let site = SiteFinder.sites(in: "    let d = 1", file: "Sources/F.swift")
        #expect(known == Set(site.map(\.identity)))
    }
}
