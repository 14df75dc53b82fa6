internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage shell`: SQL line by line.
struct Shell: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Type SQL and see what comes of it.",
        discussion: """
            SQL ends with a semicolon and may take several lines; .help lists the shell's own commands. Ctrl-C \
            ends a statement that runs, Ctrl-D the shell. The file is made when it is missing.

            Lines can be edited and come back with the up key where the system has libedit or libreadline. They \
            are kept in $XDG_STATE_HOME/securestorage/history (~/.local/state by itself), for you alone; those \
            that may spell out a key are not.

            From a script, without a terminal, the first error ends the shell with status 1.

            EXAMPLES
              securestorage shell notes.db
              securestorage shell notes.db --key-file key < script.sql
            """)

    @OptionGroup
    var file: FileOptions

    @Flag(help: "Open the file for reading only.")
    var readOnly = false

    func run() throws {
        let store = try file.open(for: readOnly ? .reading : .creating)
        defer { store.close() }
        let isInteractive = isatty(STDIN_FILENO) == 1
        let session = ShellSession(store, isInteractive: isInteractive)
        // The one thing of a store that other threads may do goes through a queue.
        let queue = SecureDatabaseQueue(databaseStore: store)
        try Interrupts.call { queue.interrupt() }
        if isInteractive {
            try Output.standard.write(
                line: "SQLCipher \(SecureDatabaseStore.cipherVersion), "
                    + "SQLite \(SecureDatabaseStore.sqliteVersion); .help lists the commands")
        }
        guard try session.run(lines(isInteractive: isInteractive)) else { throw Failure.silent }
    }

    private func lines(isInteractive: Bool) -> any LineSource {
        let isScreen = isInteractive && Output.standard.isTerminal
        let terminal = ProcessInfo.processInfo.environment["TERM"] ?? "dumb"
        if isScreen, terminal != "dumb", let edited = EditedLines() { return edited }
        return PlainLines(STDIN_FILENO, showsPrompt: isScreen)
    }
}
