import Foundation

/// The copy of the package that has the mutants, in .build/mutants/tree.
struct Tree {
    /// The package.
    let root: URL
    let copy: URL
    /// Where the campaign keeps what it finds.
    let work: URL

    init(root: URL) {
        self.root = root
        work = root.appendingPathComponent(".build/mutants")
        copy = work.appendingPathComponent("tree")
    }

    /// Returns the paths of the files that a commit would have.
    func files() async throws -> [String] {
        let list = work.appendingPathComponent("files").path
        let end = try await Child.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
            in: root.path, output: list)
        guard end == .exited(0) else { throw Failure("git ls-files failed: see \(list)") }
        return try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
            .map(String.init)
            .filter { FileManager.default.fileExists(atPath: root.appendingPathComponent($0).path) }
    }

    /// Returns the libraries: the folders of Sources with Swift, but for the tool and test kits.
    static func libraries(_ files: [String]) -> Set<String> {
        let folders = files.filter(isSource).map { String($0.split(separator: "/")[1]) }
        return Set(folders).filter { !$0.hasSuffix("Tool") && !$0.hasSuffix("TestKit") }
    }

    private static func isSource(_ file: String) -> Bool {
        file.hasPrefix("Sources/") && file.hasSuffix(".swift") && !file.contains(".docc/")
    }

    /// Returns the sites of all libraries.
    func sites(_ files: [String]) throws -> [Site] {
        let libraries = Self.libraries(files)
        return try files.filter { file in
            Self.isSource(file) && libraries.contains { file.hasPrefix("Sources/\($0)/") }
        }
        .flatMap { SiteFinder.sites(in: try text($0), file: $0) }
    }

    private func text(_ file: String) throws -> String {
        try String(contentsOf: root.appendingPathComponent(file), encoding: .utf8)
    }

    /// Makes the copy what it has to be; what is right already keeps its times, and is not
    /// compiled again.
    func write(_ files: [String], _ mutants: [Mutant]) throws {
        let mutants = Dictionary(grouping: mutants, by: \.site.file)
        var written = Set(files)
        for file in files {
            var content = try Data(contentsOf: root.appendingPathComponent(file))
            if let mutants = mutants[file] {
                content = Data(instrumented(try text(file), mutants).utf8)
            }
            if file == MutantSwitch.header { content += Data(MutantSwitch.declaration.utf8) }
            try write(content, to: file, like: file)
        }
        for (file, text) in MutantSwitch.files(libraries: Self.libraries(files)) {
            try write(Data(text.utf8), to: file, like: nil)
            written.insert(file)
        }
        let present = FileManager.default.enumerator(atPath: copy.path)
        while let file = present?.nextObject() as? String {
            // What SwiftPM has written.
            if file.hasSuffix(".build") { present?.skipDescendants() }
            if file == "Package.resolved" || written.contains(file) { continue }
            guard present?.fileAttributes?[.type] as? FileAttributeType == .typeRegular else {
                continue
            }
            try FileManager.default.removeItem(at: copy.appendingPathComponent(file))
        }
    }

    private func write(_ content: Data, to file: String, like original: String?) throws {
        let place = copy.appendingPathComponent(file)
        if let present = try? Data(contentsOf: place), present == content { return }
        try FileManager.default.createDirectory(
            at: place.deletingLastPathComponent(), withIntermediateDirectories: true)
        try content.write(to: place)
        guard let original else { return }
        let source = root.appendingPathComponent(original).path
        let rights = try FileManager.default.attributesOfItem(atPath: source)[.posixPermissions]
        if let rights {
            try FileManager.default.setAttributes(
                [.posixPermissions: rights], ofItemAtPath: place.path)
        }
    }
}
