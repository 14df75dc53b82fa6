package import Foundation
package import SecureStorage

/// A separate directory with a key file, deleted with its last reference.
package final class Workspace: Sendable {
    package let path: String

    /// A raw key, which needs no derivation.
    package static let rawKey = String(repeating: "0123456789abcdef", count: 4)

    package init() throws {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("ToolTests-\(UUID().uuidString)", isDirectory: true)
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        path = directory.path
        try write(Self.rawKey + "\n", to: "key", mode: 0o600)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    package func file(_ name: String) -> String { path + "/" + name }

    package func write(_ text: String, to name: String, mode: mode_t = 0o644) throws {
        try write(Data(text.utf8), to: name, mode: mode)
    }

    package func write(_ data: Data, to name: String, mode: mode_t = 0o644) throws {
        try data.write(to: URL(fileURLWithPath: file(name)))
        try require(chmod(file(name), mode) == 0)
    }

    package func read(_ name: String) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: file(name)))
    }

    package func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: file(name))
    }

    package var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }

    /// Runs the program with the workspace's key.
    @discardableResult
    package func run(
        _ arguments: String..., input: String = "", environment: [String: String] = [:]
    ) throws -> Program {
        // After the verb, because a `--` ends the options.
        let verb = arguments.first == "kv" ? 2 : 1
        return try Program(
            arguments.prefix(verb) + ["--key-file", "key", "--raw-key"] + arguments.dropFirst(verb),
            input: Data(input.utf8), directory: path, environment: environment)
    }

    /// Runs a shell script with `securestorage` in its path.
    package func shell(_ script: String, environment: [String: String] = [:]) throws -> Program {
        let directory = URL(fileURLWithPath: Program.path).deletingLastPathComponent().path
        let all = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        var environment = environment
        environment["PATH"] = directory + ":" + all
        return try Program(
            ["-c", script], program: "/bin/bash", directory: path, environment: environment)
    }

    /// Runs SQL with the library, which takes less time than the program.
    package func fill(_ name: String, _ sql: String, passphrase: String? = nil) throws {
        let store = try store(name, passphrase: passphrase)
        defer { store.close() }
        try store.executeStatements(sql)
    }

    /// Opens a file with the library: with the workspace's key, or with a passphrase and a single
    /// iteration of the key derivation.
    package func store(_ name: String, passphrase: String? = nil) throws -> SecureDatabaseStore {
        var configuration = SecureDatabaseConfiguration()
        if passphrase != nil { configuration.cipher.kdfIterations = 1 }
        let store = SecureDatabaseStore(
            fullDatabasePath: file(name), configuration: configuration)
        try store.open(with: .passphrase(passphrase ?? "x'\(Self.rawKey)'"))
        return store
    }
}
