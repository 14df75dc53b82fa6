import Foundation
import ExampleSupport
import Testing

/// The program of a step: the files that the reader has at that point, compiled and linked with
/// what was built for the tests.
struct StepProgram {
    /// The files by the names that the reader gives them.
    var sources: [String: String] = [:]
    /// A folder for the sources and for the libraries.
    private let workspace: URL

    private static let products = URL(fileURLWithPath: CommandLine.arguments[0])
        .deletingLastPathComponent()

    /// Links the libraries once for all programs: with all of their objects, each takes seconds.
    ///
    /// - Parameter workspace: A folder for the sources and for the libraries.
    /// - Throws: What the linker says.
    init(in workspace: URL) throws {
        self.workspace = workspace
        let objects = try Self.objects()
        let list = workspace.appendingPathComponent("objects")
        try objects.joined(separator: "\n").write(to: list, atomically: true, encoding: .utf8)
        try Self.compile(
            ["-emit-library", "-o", workspace.appendingPathComponent("libNotebooks.so").path]
                + Self.linking(objects) + ["@\(list.path)"])
    }

    /// Compiles the program; a warning is an error.
    ///
    /// - Parameter file: Where it goes.
    /// - Throws: What the compiler says.
    func build(_ file: URL) throws {
        let folder = workspace.appendingPathComponent("sources-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var paths: [String] = []
        for (name, text) in sources.sorted(by: { $0.key < $1.key }) {
            let source = folder.appendingPathComponent(name)
            try text.write(to: source, atomically: true, encoding: .utf8)
            paths.append(source.path)
        }
        // Not at its place: a program of the previous step may be running.
        let draft = folder.appendingPathComponent("program")
        try Self.compile(
            [
                "-swift-version", "6", "-warnings-as-errors", "-module-name", "Notebook",
                "-whole-module-optimization", "-o", draft.path, "-L", workspace.path,
                "-lNotebooks", "-Xlinker", "-rpath", "-Xlinker", workspace.path,
            ] + paths + Self.importing() + Self.sanitizing())
        _ = rename(draft.path, file.path)
    }

    private static func compile(_ arguments: [String]) throws {
        let compiler = try ChildProcess("swiftc", arguments)
        try require(compiler.status == 0, "\(compiler.output)\(compiler.errors)")
    }

    /// The objects of the libraries, as the example that has all of them is linked.
    private static func objects() throws -> [String] {
        let list = try String(
            contentsOf: products.appendingPathComponent("Notebook.product/Objects.LinkFileList"),
            encoding: .utf8)
        return list.components(separatedBy: "\n").filter { !$0.contains("/Notebook.build/") }
    }

    private static func importing() throws -> [String] {
        let maps = ["CSecureStoragePlatform", "CSQLCipher"].flatMap {
            ["-Xcc", "-fmodule-map-file=\(products.path)/\($0).build/module.modulemap"]
        }
        let headers = try flags("--cflags-only-I").flatMap { ["-Xcc", $0] }
        return ["-I", "\(products.path)/Modules"] + maps + headers
    }

    private static func linking(_ objects: [String]) throws -> [String] {
        // The engine of Scripts/check-trait is one of the objects, and uses OpenSSL.
        let hasEngine = objects.contains { $0.contains("/SQLCipher.build/") }
        let engine = hasEngine ? ["-lcrypto"] : try flags("--libs")
        return engine + ["-lstdc++", "-lm"] + sanitizing()
    }

    private static func sanitizing() -> [String] {
        guard Sanitizer.isPresent else { return [] }
        return ["-sanitize=\(products.path.contains("tsan") ? "thread" : "address")"]
    }

    private static func flags(_ option: String) throws -> [String] {
        try ChildProcess("pkg-config", [option, "sqlcipher"]).output
            .split(whereSeparator: \.isWhitespace).map(String.init)
    }
}
