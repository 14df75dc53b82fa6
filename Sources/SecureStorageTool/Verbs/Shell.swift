internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage shell`: runs SQL line by line.
struct Shell: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Type SQL and see what comes of it.",
        discussion: """
            SQL ends with a semicolon and may take several lines; .help lists the shell's own commands. Ctrl-C \
            ends a statement that runs, Ctrl-D the shell. The file is made when it is missing.

            Lines can be edited and come back with the up key where the system has libedit or libreadline. They \
            are forgotten when the shell ends, since statements hold data. With --history they are kept in a file \
            for you alone; what may spell out a key, and what begins with a space, is never kept.

            From a script, without a terminal, the first error ends the shell with status 1.

            EXAMPLES
              securestorage shell notes.db
              securestorage shell notes.db --history ~/.notes-history
              securestorage shell notes.db --key-file key < script.sql
            """)

    @OptionGroup
    var file: FileOptions

    @Flag(help: "Open the file for reading only.")
    var readOnly = false

    @Option(
        help: "Keep what is typed at a terminal in this file, mode 0600 (default: nowhere).",
        completion: .file())
    var history: String?

    func run() throws {
        let isInteractive = isatty(STDIN_FILENO) == 1
        let history = try History(isInteractive ? history : nil)
        let store = try file.open(for: readOnly ? .reading : .creating)
        defer { store.close() }
        let session = ShellSession(store, isInteractive: isInteractive, history: history)
        // Other threads may only interrupt a store, and only through a queue.
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
