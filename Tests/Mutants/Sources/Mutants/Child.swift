import Foundation

/// Programs in sessions of their own, so that all they have started is ended with them.
enum Child {
    enum End: Hashable, Sendable {
        /// The status, or 128 and the number of a signal.
        case exited(Int32)
        case timedOut
        /// Its output had the text that ends it.
        case said
    }

    /// Runs a program to its end, or to a limit, and ends what is left of its session.
    ///
    /// - Parameters:
    ///   - arguments: The program, a path or a name on `PATH`, and its arguments.
    ///   - environment: Variables beside those of this process.
    ///   - directory: Where it runs.
    ///   - output: The file for all that it prints.
    ///   - limit: In seconds.
    ///   - ending: A text that ends the program when it prints it.
    /// - Returns: How it ended.
    /// - Throws: `Failure` if it cannot be started.
    static func run(
        _ arguments: [String], environment: [String: String] = [:], in directory: String,
        output: String, limit: Double = .infinity, ending: String? = nil
    ) async throws -> End {
        let process = try start(arguments, environment, directory, output)
        sessions.add(process)
        defer {
            endSession(process)
            sessions.remove(process)
        }
        let begin = ContinuousClock.now
        var reader = OutputReader(output)
        while true {
            // Before the output is read, so that its last lines are.
            var status: Int32 = 0
            let hasEnded = waitpid(process, &status, WNOHANG) == process
            if let ending, reader.finds(ending) {
                if !hasEnded { kill(process, SIGKILL) }
                if !hasEnded { waitpid(process, &status, 0) }
                return .said
            }
            if hasEnded {
                return .exited(status & 0x7f == 0 ? status >> 8 & 0xff : 128 + status & 0x7f)
            }
            if (ContinuousClock.now - begin) / .seconds(1) > limit {
                kill(process, SIGKILL)
                waitpid(process, &status, 0)
                return .timedOut
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private static func start(
        _ arguments: [String], _ environment: [String: String], _ directory: String,
        _ output: String
    ) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, 1, output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0o600)
        posix_spawn_file_actions_adddup2(&actions, 1, 2)
        // Those that this process ignores would be ignored by the program, too.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        for signal in [SIGHUP, SIGINT, SIGQUIT, SIGTERM] { sigaddset(&defaults, signal) }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
        // These two become the program: a session and a folder are nothing that Swift's
        // `posix_spawn` can set.
        let variables = environment.map { "\($0)=\($1)" }
        let all = ["setsid", "env", "-C", directory] + variables + arguments
        let argv = all.map { strdup($0) } + [nil]
        defer { for pointer in argv { free(pointer) } }
        var process = pid_t()
        let code = posix_spawnp(&process, all[0], &actions, &attributes, argv, environ)
        guard code == 0 else {
            throw Failure("cannot start \(arguments[0]): \(String(cString: strerror(code)))")
        }
        return process
    }

    // MARK: - Sessions

    /// Those that run, by their leaders.
    static let sessions = Sessions()

    /// Ends all processes of a session: some are in groups of their own.
    static func endSession(_ leader: pid_t) {
        var members: [pid_t] = []
        repeat {
            let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            members = processes.compactMap { pid_t($0) }.filter { process in
                // After the name, in parentheses: state, parent, group, session.
                let text = try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)
                let fields = text?.split(separator: ")").last?.split(separator: " ") ?? []
                return fields.count > 3 && fields[0] != "Z" && pid_t(fields[3]) == leader
            }
            for member in members { kill(member, SIGKILL) }
        } while !members.isEmpty
    }
}

/// The sessions that run, for a signal that ends the campaign.
final class Sessions: @unchecked Sendable {
    private let lock = NSLock()
    private var leaders: Set<pid_t> = []

    func add(_ leader: pid_t) { _ = lock.withLock { leaders.insert(leader) } }
    func remove(_ leader: pid_t) { _ = lock.withLock { leaders.remove(leader) } }
    func endAll() { for leader in lock.withLock({ leaders }) { Child.endSession(leader) } }
}

/// Finds a text in a file that grows.
private struct OutputReader {
    private let path: String
    private var position: UInt64 = 0

    init(_ path: String) { self.path = path }

    /// Whether the text is in what was added since the last call.
    mutating func finds(_ text: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        defer { try? file.close() }
        let overlap = min(position, UInt64(text.utf8.count))
        guard (try? file.seek(toOffset: position - overlap)) != nil,
            let data = try? file.readToEnd()
        else { return false }
        position += UInt64(data.count) - overlap
        return data.range(of: Data(text.utf8)) != nil
    }
}
