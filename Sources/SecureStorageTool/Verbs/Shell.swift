internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage shell`: runs SQL line by line.
struct Shell: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Run SQL interactively.",
        discussion: """
            SQL ends with a semicolon and may span several lines; .help lists the shell's own commands. Ctrl-C \
            interrupts a running statement, Ctrl-D exits the shell. The file is created if it is missing.

            Statements can be edited, the up key recalls earlier ones, and Tab completes names and keywords. \
            They are discarded when the shell exits, since statements contain data. With --history they are kept in a \
            file that only you can access; those that may spell out a key or that begin with a space are never kept.

            Results longer than the screen are shown in the pager that PAGER names, else in less.

            In a script, without a terminal, the first error ends the shell, with the status of that error.

            EXAMPLES
              securestorage shell notes.db
              securestorage shell notes.db --history ~/.notes-history
              securestorage shell notes.db --key-file key < script.sql
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Open the file read-only.")
    var readOnly = false

    @Flag(help: "Print errors as JSON; .mode json does so for rows.")
    var json = false

    @Option(
        help: "Keep what is typed at a terminal in this file, mode 0600 (default: none).",
        completion: .file())
    var history: String?

    func run() throws {
        let isInteractive = isatty(STDIN_FILENO) == 1
        let history = try History(isInteractive ? history : nil)
        let store = try open(for: readOnly ? .reading : .creating)
        defer { store.close() }
        let isScreen = isInteractive && Output.standard.isTerminal
        let environment = ProcessInfo.processInfo.environment
        let session = ShellSession(
            store, isInteractive: isInteractive, history: history,
            pager: isScreen ? Pager.usual(environment) : nil)
        // Other threads may only interrupt a store, and only through a queue.
        let queue = SecureDatabaseQueue(databaseStore: store)
        guard isInteractive else {
            return try StopSignals.interrupting({ queue.interrupt() }) {
                try session.run(PlainLines(STDIN_FILENO, showsPrompt: false))
            }
        }
        try Interrupts.call { queue.interrupt() }
        try Output.standard.write(
            line: "SQLCipher \(SecureDatabaseStore.cipherVersion), "
                + "SQLite \(SecureDatabaseStore.sqliteVersion); .help lists the commands")
        let canEdit = isScreen && environment["TERM"] ?? "dumb" != "dumb"
        let lines: any LineSource =
            canEdit ? editor(store) : PlainLines(STDIN_FILENO, showsPrompt: isScreen)
        try session.run(lines)
    }

    private func editor(_ store: SecureDatabaseStore) -> LineEditor {
        let completion = SQLCompletion(store)
        return LineEditor(
            continuation: ShellSession.continuation, isComplete: ShellText.isComplete,
            complete: completion.candidates(after:))
    }
}
