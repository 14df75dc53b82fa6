package import Foundation

/// A program that has run to its end, with files as its input and outputs, so that nothing blocks.
///
/// Not Foundation's `Process`: on Linux it sees a program end by a socket, which a program that
/// another thread starts at that moment inherits and keeps open.
package struct ChildProcess {
    /// The exit status, or 128 and the number of the signal that ended it.
    package let status: Int32
    package let data: Data
    package let errors: String

    package var output: String { String(decoding: data, as: UTF8.self) }

    /// Runs `program`, a path or a name on `PATH`.
    ///
    /// - Parameters:
    ///   - program: Its path, or a name on `PATH`.
    ///   - arguments: Without the program's own name.
    ///   - input: What it reads from its standard input.
    ///   - environment: Variables beside those of this process, or in their place.
    /// - Throws: An error if the program does not exist or cannot be started.
    package init(
        _ program: String, _ arguments: [String] = [], input: Data = Data(),
        environment: [String: String] = [:]
    ) throws {
        guard let program = Self.find(program)?.path else { throw CocoaError(.fileNoSuchFile) }
        let files = try ["in", "out", "err"].map { name in
            let path = NSTemporaryDirectory() + "ChildProcess-\(UUID().uuidString)-\(name)"
            if name == "in" { try input.write(to: URL(fileURLWithPath: path)) }
            let flags = name == "in" ? O_RDONLY : O_RDWR | O_CREAT
            let descriptor = open(path, flags | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw CocoaError(.fileReadUnknown) }
            unlink(path)
            return descriptor
        }
        defer { for file in files { close(file) } }
        let process = try Self.start(
            [program] + arguments,
            ProcessInfo.processInfo.environment.merging(environment) { $1 }, files)
        var status: Int32 = 0
        while waitpid(process, &status, 0) < 0, errno == EINTR {}
        self.status = status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f
        data = Self.content(files[1])
        errors = String(decoding: Self.content(files[2]), as: UTF8.self)
    }

    private static func content(_ file: Int32) -> Data {
        lseek(file, 0, SEEK_SET)
        return FileHandle(fileDescriptor: file, closeOnDealloc: false).readDataToEndOfFile()
    }

    /// Starts a program, which inherits three files and no other descriptor below 1024.
    ///
    /// - Returns: Its number; the caller waits for its end.
    /// - Throws: `NSError` with the error number if it cannot be started.
    package static func start(
        _ arguments: [String], _ environment: [String: String], _ files: [Int32]
    ) throws -> pid_t {
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
            var attributes: posix_spawnattr_t?
        #else
            var actions = posix_spawn_file_actions_t()
            var attributes = posix_spawnattr_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for (number, file) in files.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, file, Int32(number))
        }
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // Without the signals that the threads of a test block: with them blocked, the program
        // could neither be ended nor end its own children.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // A shell that runs the tests in the background lets them ignore Ctrl-C, and `nohup` the
        // end of a terminal.
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGPIPE] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        #if canImport(Darwin)
            let flags =
                POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_CLOEXEC_DEFAULT
        #else
            let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
            // Not addclosefrom_np, which Swift does not see.
            for other in 3..<1024 as Range<CInt> {
                posix_spawn_file_actions_addclose(&actions, other)
            }
        #endif
        posix_spawnattr_setflags(&attributes, Int16(flags))
        let argv = arguments.map { strdup($0) } + [nil]
        let envp = environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for pointer in argv + envp { free(pointer) } }
        var process = pid_t()
        let code = posix_spawn(&process, arguments[0], &actions, &attributes, argv, envp)
        guard code == 0 else {
            throw NSError(domain: NSPOSIXErrorDomain, code: Int(code))
        }
        return process
    }

    /// Returns the executable file with that name, or nil if none exists.
    package static func find(_ program: String) -> URL? {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let candidates =
            program.contains("/")
            ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
        return candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
            .map { URL(fileURLWithPath: $0) }
    }
}
