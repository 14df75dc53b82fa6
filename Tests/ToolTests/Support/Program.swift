import Foundation
import Testing

/// A completed run of the real program.
struct Program {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    var lines: [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map { String($0) }
    }

    /// The executable built with the tests, next to their bundle.
    static let path: String = {
        let bundles = [CommandLine.arguments[0]] + Bundle.allBundles.map(\.bundlePath)
        let bundle = bundles.first { $0.contains(".xctest") } ?? CommandLine.arguments[0]
        var directory = URL(fileURLWithPath: bundle)
        while directory.path != "/" {
            directory.deleteLastPathComponent()
            let program = directory.appendingPathComponent("securestorage").path
            if FileManager.default.isExecutableFile(atPath: program) { return program }
        }
        return "securestorage"
    }()

    /// Runs `program` with files as its input and outputs, so that nothing can block.
    init(
        _ arguments: [String], program: String = Program.path, input: Data = Data(),
        directory: String, environment: [String: String] = [:]
    ) throws {
        let files = try ["in", "out", "err"].map { name in
            let path = NSTemporaryDirectory() + "ToolTests-\(UUID().uuidString)-\(name)"
            if name == "in" { try input.write(to: URL(fileURLWithPath: path)) }
            let flags = name == "in" ? O_RDONLY : O_RDWR | O_CREAT
            let descriptor = open(path, flags | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            unlink(path)
            return descriptor
        }
        defer { for file in files { close(file) } }
        let script = #"cd "$0" && exec "$@""#
        let all = ["/bin/sh", "-c", script, directory, program] + arguments
        var values = ProcessInfo.processInfo.environment
        values["XDG_STATE_HOME"] = directory + "/state"
        values.merge(environment) { $1 }
        status = try Self.run(all, values, files)
        output = Self.content(files[1])
        errors = String(decoding: Self.content(files[2]), as: UTF8.self)
    }

    private static func content(_ file: Int32) -> Data {
        lseek(file, 0, SEEK_SET)
        return FileHandle(fileDescriptor: file, closeOnDealloc: false).readDataToEndOfFile()
    }

    private static func run(
        _ arguments: [String], _ environment: [String: String], _ files: [Int32]
    ) throws -> Int32 {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, file) in files.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
        }
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        // Without the signals that the threads of a test block.
        #if canImport(Darwin)
            var attributes: posix_spawnattr_t?
        #else
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var process = pid_t()
        try #require(posix_spawn(&process, arguments[0], &actions, &attributes, argv, envp) == 0)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        return status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
    }
}
