import Foundation
import ExampleSupport
import Testing

/// The tutorials, followed step by step as a reader does.
struct TutorialTests {
    #if os(Linux)
        @Test(.enabled(if: Terminal.isAvailable))
        func `every step compiles, runs, and shows what its tutorial says`() throws {
            let reader = try TutorialReader()
            defer { reader.leave() }
            let steps = try Tutorial.all().flatMap(\.steps)
            for (index, step) in steps.enumerated() where step.name != "Package.swift" {
                try reader.follow(step, before: Array(steps[(index + 1)...]))
            }
            check(reader.programs >= 20)
            check(reader.transcripts >= 20)
        }
    #endif

    @Test func `the files of the last step are those of the example`() throws {
        var files: [String: String] = [:]
        for step in try Tutorial.all().flatMap(\.steps) where !step.isTranscript {
            files[step.name] = try Tutorial.resource(step.file)
        }
        files["Package.swift"] = nil
        let example = Checkout.root.appendingPathComponent("Examples/Notebook")
        let names = try FileManager.default.contentsOfDirectory(atPath: example.path)
        check(Set(names.filter { $0.hasSuffix(".swift") }), equals: Set(files.keys))
        for (name, text) in files {
            let file = example.appendingPathComponent(name)
            try check(String(contentsOf: file, encoding: .utf8), equals: text, "\(name) differs")
        }
    }

    @Test func `every file of the tutorials is a step's, and every tutorial is in the table`()
        throws
    {
        let tutorials = try Tutorial.all()
        let shown = Set(tutorials.flatMap(\.steps).map(\.file))
        let files = try FileManager.default.contentsOfDirectory(atPath: Tutorial.resources.path)
        check(Set(files.filter { !$0.hasSuffix(".svg") }), equals: shown)
        let names = try FileManager.default.contentsOfDirectory(atPath: Tutorial.folder.path)
            .filter { $0.hasSuffix(".tutorial") }
        check(
            Set(names), equals: Set(tutorials.map { $0.name + ".tutorial" } + ["Notebook.tutorial"])
        )
    }

    @Test func `the manifest of the first step names products of this package`() throws {
        let folder = try TemporaryDatabase().directory
        let package = folder.appendingPathComponent("Notebook")
        try FileManager.default.createDirectory(at: package, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Tutorial.resource("01-01-Package.swift").write(
            to: package.appendingPathComponent("Package.swift"), atomically: true, encoding: .utf8)
        let dump = try ChildProcess(
            "swift", ["package", "--package-path", package.path, "dump-package"])
        check(dump.status, equals: 0, "\(dump.errors)")
        let names = dump.output.matches(of: /"product" : \[\s*"(\w+)"/).map { String($0.1) }
        check(names, equals: ["SecureStorage", "Vaults", "SecureSync"])
        let manifest = try String(
            contentsOf: Checkout.root.appendingPathComponent("Package.swift"), encoding: .utf8)
        for name in names { check(manifest.contains(".library(name: \"\(name)\"")) }
    }
}
