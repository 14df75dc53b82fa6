internal import ArgumentParser
internal import Foundation
internal import Logging

/// The program: its verbs, and how it ends.
@main
struct Tool: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "securestorage",
        abstract: "Look into encrypted databases, fill them, copy, check and repair them.",
        discussion: """
            The files are ordinary SQLCipher 4 databases. A key is never an argument: it is asked for \
            on the terminal, or read from a descriptor (--key-fd), a file (--key-file) or the \
            environment (--key-env).

            EXAMPLES
              securestorage shell notes.db
              securestorage query notes.db "SELECT * FROM note" --key-file ~/.notes-key
              securestorage import notes.db people.csv --table person
              securestorage export notes.db --format sql --output notes.sql

            EXIT STATUS
              0  done
              1  something was wrong: the key, the file, the SQL, the data; or nothing was found
              2  wrong usage
              3  the disk failed while the key was changed, and either key may be the file's: keep both
            """,
        version: "securestorage \(version)",
        subcommands: [
            Info.self, Diagnose.self, Verify.self, Query.self, Shell.self, Import.self,
            Export.self, Encrypt.self, Decrypt.self, Rekey.self, Migrate.self, Backup.self,
            Salvage.self, KeyValue.self,
        ])

    /// Of this program and of the library in it.
    static let version = "unreleased"

    static func main() {
        fillStandardDescriptors()
        letSignalsThrough()
        LoggingSystem.bootstrap { _ in ToolLog() }
        do {
            var command = try parseAsRoot()
            try command.run()
            try Output.standard.flush()
        } catch {
            Foundation.exit(end(with: error))
        }
    }

    /// A file that is opened must not get the number of a standard one that the parent has closed,
    /// and messages with it.
    private static func fillStandardDescriptors() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is this one; where that fails, so will what comes next.
            _ = open("/dev/null", O_RDWR)
        }
    }

    /// Whatever the parent has chosen: a thread of Dispatch's blocks signals, and its children
    /// begin so.
    private static func letSignalsThrough() {
        // `securestorage … | head` ends quietly.
        signal(SIGPIPE, SIG_DFL)
        var signals = sigset_t()
        sigemptyset(&signals)
        for signal in [SIGPIPE, SIGINT, SIGTERM, SIGHUP] { sigaddset(&signals, signal) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Says what was wrong; returns the exit status.
    private static func end(with error: any Error) -> Int32 {
        // What was written before the error belongs before its message.
        try? Output.standard.flush()
        if let failure = Failure(error) {
            failure.report()
            return failure.status
        }
        // ArgumentParser's own: help, versions, scripts for completion, and wrong usage.
        let code = exitCode(for: error)
        let message = fullMessage(for: error)
        guard code == .validationFailure else {
            let output = code.isSuccess ? Output.standard : Output.errors
            if !message.isEmpty { try? output.write(line: message) }
            try? output.flush()
            return code.rawValue
        }
        let prefix = "Error: "
        let text = message.hasPrefix(prefix) ? String(message.dropFirst(prefix.count)) : message
        try? Output.errors.write(line: "securestorage: " + text)
        try? Output.errors.flush()
        return Failure.usageStatus
    }
}
