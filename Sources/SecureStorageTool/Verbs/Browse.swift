internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage browse`: shows tables on the whole screen of a terminal.
struct Browse: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Look through tables on the screen.",
        discussion: """
            Shows the tables and views, their rows in pages, their schema, and whole values. The keys are those of \
            less and htop: arrows or h, j, k and l, PgUp and PgDn, g and G, / to search, f to filter by an SQL \
            condition, Enter for a cell's value, q to go back, and ? for all of them.

            The file is only read unless --write is given; then e edits a cell and d deletes a row, each after a \
            question. Pages are read one by one, so tables may be of any size, and other programs may write in the \
            meantime. Nothing stays on the terminal's screen afterwards. NO_COLOR turns colours off.

            EXAMPLES
              securestorage browse notes.db
              securestorage browse notes.db note --key-file ~/.notes-key
              securestorage browse notes.db --write
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The table or view to begin with.")
    var table: String?

    @Flag(help: "Allow changes of cells and rows.")
    var write = false

    /// For decrypted pages, in bytes: little, since pages are rarely shown twice.
    private static let cacheSize = 4 << 20

    func run() throws {
        // Before the key is asked for.
        let terminal = try ScreenTerminal()
        let (store, key) = try storeAndKey(
            for: write ? .writing : .reading, busyTimeout: .seconds(2), cacheSize: Self.cacheSize)
        try explaining(key) { try store.open(with: key) }
        let queue = SecureDatabaseQueue(databaseStore: store)
        defer { queue.close() }
        let model = BrowserModel(
            file: URL(fileURLWithPath: file).lastPathComponent, isWritable: write,
            size: terminal.size)
        let status = try BrowserLoop(terminal, queue, model: model).run(table: table)
        // The terminal is as it was; a signal needs no message.
        if status != 0 { throw Failure.shown("ended", .signal(status - 128)) }
    }
}
