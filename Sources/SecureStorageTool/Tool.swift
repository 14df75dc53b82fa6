internal import ArgumentParser
internal import CSecureStoragePlatform
internal import CSecureStorageTool
internal import Foundation
internal import Logging

/// The program: its verbs and its exit status.
@main
struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "securestorage",
        abstract: "Inspect, fill, copy, check and repair encrypted databases.",
        discussion: """
            The files are ordinary SQLCipher 4 databases. A key is never an argument: the tool prompts for it on the \
            terminal, or reads it from a descriptor (--key-fd), a file (--key-file) or the environment (--key-env).

            EXAMPLES
              securestorage shell notes.db
              securestorage query notes.db "SELECT * FROM note" --key-file ~/.notes-key
              securestorage import notes.db people.csv --table person
              securestorage export notes.db --format sql --output notes.sql

            EXIT STATUS
            \(FailureKind.help)

            With --json, each line of standard error is a JSON object; the code of an error is the name above.
            """,
        version: "securestorage \(version)",
        subcommands: [
            Info.self, Diagnose.self, Verify.self, Query.self, Shell.self, Browse.self,
            Import.self, Export.self, Encrypt.self, Decrypt.self, Rekey.self, Migrate.self,
            Backup.self,
            Salvage.self, MirrorFile.self, Restore.self, Mirrors.self, MirrorLog.self,
            MirrorVerify.self, Sync.self, KeyValue.self,
        ])

    /// The version of this program and of its library.
    static let version = "unreleased"

    static func main() {
        fillStandardDescriptors()
        letSignalsThrough()
        leaveNoTraces()
        LoggingSystem.bootstrap { _ in ToolLog() }
        do {
            let arguments = Array(try arguments().dropFirst())
            try requireVerb(arguments)
            var command = try parseAsRoot(arguments)
            try command.run()
            try Output.standard.flush()
        } catch {
            Foundation.exit(end(with: error))
        }
    }

    /// Returns the arguments, the first of which is the program.
    ///
    /// - Throws: `Failure` if there is not even the program: to show the help, and to end with 0,
    ///   would be wrong for `securestorage verify …`.
    static func arguments() throws -> [String] {
        let found = CommandLine.arguments
        guard found.isEmpty else { return found }
        var count: Int32 = 0
        let passed = ctool_arguments(&count)
        guard let passed, count > 0 else {
            throw Failure("the arguments cannot be read", hint: "mount /proc")
        }
        return (0..<Int(count)).compactMap { passed[$0].map { String(cString: $0) } }
    }

    /// Leaves no memory on the screen or on the disk if the program crashes, since it holds rows.
    private static func leaveNoTraces() {
        // The handlers of Swift's runtime print the registers, and the bytes that they point to.
        for number in [SIGQUIT, SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGTRAP]
        where cplatform_is_ignored(number) == 0 {
            signal(number, SIG_DFL)
        }
        var none = rlimit()
        setrlimit(coreLimit, &none)
    }

    #if canImport(Glibc)
        private static let coreLimit = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
        private static let coreLimit = RLIMIT_CORE
    #endif

    /// Opens standard descriptors that the parent has closed, because an opened file must not get
    /// such a number and receive messages.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one; if this fails, so will the calls that follow.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Unblocks signals whatever the parent has set: Dispatch threads block signals, and their
    /// child processes inherit that.
    private static func letSignalsThrough() {
        // `securestorage … | head` must end quietly.
        signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Reports the error, and returns the exit status.
    private static func end(with error: any Error) -> Int32 {
        // Output from before the error belongs before its message.
        try? Output.standard.flush()
        if let failure = Failure(error) {
            failure.report()
            return failure.status
        }
        if let ending = error as? EndingWithStatus { return ending.status }
        // ArgumentParser's own: help, versions, completion scripts, and usage errors.
        let code = exitCode(for: error)
        let message = fullMessage(for: error)
        guard code == .validationFailure else {
            let output = code.isSuccess ? Output.standard : Output.errors
            do {
                if !message.isEmpty { try output.write(line: message) }
                try output.flush()
            } catch {
                guard let failure = Failure(error) else { return FailureKind.access.status }
                failure.report()
                return failure.status
            }
            return code.rawValue
        }
        let prefix = "Error: "
        if Report.isJSON {
            Failure.usage(Self.message(for: error)).report()
            return FailureKind.usage.status
        }
        let text = message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
        try? Output.errors.write(line: "securestorage: " + text)
        try? Output.errors.flush()
        return FailureKind.usage.status
    }
}
