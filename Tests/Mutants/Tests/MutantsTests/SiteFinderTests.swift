import Testing

@testable import Mutants

struct SiteFinderTests {
    private func effects(_ source: String) -> [String] {
        SiteFinder.sites(in: source, file: "Sources/Library/File.swift").map(\.effect)
    }

    /// The source with each of its mutants in turn, as the number 0.
    private func mutants(_ source: String) -> [String] {
        SiteFinder.sites(in: source, file: "Sources/Library/File.swift").map {
            instrumented(source, [Mutant(number: 0, site: $0)])
        }
    }

    @Test func `operators are replaced by their rule`() {
        #expect(
            effects("let a = b < c && d == e") == [
                "boundary: b <= c for b < c", "logic: b < c || d == e for b < c && d == e",
                "equality: != in d == e",
            ])
        #expect(effects("x += 8 - y").contains("arithmetic: x -= 8 - y for x += 8 - y"))
    }

    @Test func `an operator that joins texts has no mutant`() {
        #expect(effects(#"let a = b + "c" + d"#) == [])
    }

    @Test func `integers change by one, and stay in the range of their type`() {
        let numbers = effects("f(0, 7, 0xff, 1_000, -1, t.1)")
        #expect(
            numbers.filter { $0.hasPrefix("integer") } == [
                "integer: 1 for 0", "integer: 8 for 7", "integer: 254 for 0xff",
                "integer: 999 for 1_000", "integer: 2 for 1",
            ])
    }

    @Test func `changes of the same kind are told apart, in one line and in equal ones`() {
        #expect(
            effects("let pair = (1, 1)") == [
                "integer: 2 for 1", "integer: 2 for 1 (the 2. in such a line)",
            ])
        #expect(
            effects("a = 1\n\n    a = 1") == [
                "integer: 2 for 1", "integer: 2 for 1 (the 2. in such a line)",
            ])
    }

    @Test func `a guard that throws has a mutant that never does`() {
        let source = "guard a, b.isEmpty, let c = d else { throw E() }"
        #expect(
            effects(source) == [
                "check: true for a", "condition: not a", "check: true for b.isEmpty",
                "condition: not b.isEmpty",
            ])
        #expect(effects("if a { throw E() }") == ["check: false for a", "condition: not a"])
        #expect(effects("if a { return }") == ["condition: not a"])
    }

    @Test func `a call is left out unless its value may be the result`() {
        #expect(mutants("func a() { try b() }") == ["func a() { if !isMutant(0) { try b() } }"])
        #expect(mutants("func a() -> Int { b() }") == [])
        #expect(mutants("let a = { b() }") == [])
        #expect(mutants("var a: Int { b() }") == [])
        #expect(mutants("init() { self.init(b) }") == [])
    }

    @Test func `an optional result can be nil`() {
        #expect(
            mutants("func a() -> Int? { b }") == [
                "func a() -> Int? { if isMutant(0) { return nil }; return b }"
            ])
        #expect(
            mutants("var a: Int? { get { return b } }") == [
                "var a: Int? { get { if isMutant(0) { return nil }; return b } }"
            ])
        #expect(mutants("func a() -> Int? { f { return b } }").count == 1)
        #expect(mutants("func a() -> Int? { nil }") == [])
    }

    @Test func `texts for people and code of other systems have no mutants`() {
        #expect(effects(#"var description: String { "\(count + 1)" }"#) == [])
        #expect(effects(#"func f() throws { throw E("\(count + 1)") }"#) == [])
        #expect(effects("logger.warning(a < b)") == [])
        #expect(effects("preconditionFailure(a < b)") == [])
        #expect(effects("@available(macOS 13, *) enum A: Int { case a = 3 }") == [])
        #expect(effects("#if canImport(Darwin)\nlet a = 1\n#else\nlet a = 2\n#endif").count == 1)
        #expect(effects("#if !os(Linux) || Metrics\nlet a = 1\n#endif").count == 1)
    }
}
