internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// `securestorage encrypt`: makes an encrypted file with the contents of a plain one.
struct Encrypt: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Convert a plain SQLite database to an encrypted file.",
        discussion: """
            Everything is copied: rows with their ids, indexes, views, triggers, virtual tables, and the header's \
            numbers. The rows are counted and the new file is checked before it gets its name. The plain file is not \
            changed; deleting it does not erase its contents from the disk.

            EXAMPLES
              securestorage encrypt plain.sqlite notes.db
              securestorage encrypt plain.sqlite notes.db --key-file key
            """)

    @Argument(help: "The plain SQLite database.", completion: .file())
    var plain: String

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        guard OutputFile.exists(plain) else { throw Failure.noFile(plain) }
        try requireNew(file, force)
        let key = try keyOptions.key(of: file, isNew: true)
        let counts = try withProgress("encrypting") {
            try SecureDatabaseStore.importPlaintext(
                from: URL(fileURLWithPath: plain), to: URL(fileURLWithPath: file), key: key,
                cipher: cipher.configuration, replacing: force, progress: $0)
        }
        try acknowledge(
            "encrypted \(plain) as \(file), \(RowCounts(counts))", json: json,
            ConversionAnswer(plain: plain, encrypted: file, tables: counts))
    }
}

/// `securestorage decrypt`: makes a plain file with the contents of an encrypted one.
struct Decrypt: FileVerb {
    static let configuration = CommandConfiguration(
        abstract: "Convert an encrypted file to a plain SQLite database.",
        discussion: """
            Anyone who obtains the new file (mode 0600) can read its contents; deleting it does not erase them from \
            the disk. The encrypted file is not changed.

            EXAMPLES
              securestorage decrypt notes.db plain.sqlite
            """)

    @Argument(help: "The encrypted file.", completion: .file()) var file: String
    @OptionGroup(title: KeyOptions.title) var keyOptions: KeyOptions
    @OptionGroup(title: CipherOptions.title) var cipher: CipherOptions

    @Argument(help: "The path of the plain database.", completion: .file())
    var target: String

    @Flag(help: "Replace an existing file.")
    var force = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        try requireNew(target, force)
        let store = try open(for: .reading)
        defer { store.close() }
        let counts = try withProgress("decrypting") {
            try store.exportPlaintext(
                to: URL(fileURLWithPath: target), replacing: force, progress: $0)
        }
        try acknowledge(
            "decrypted \(file) as \(target), \(RowCounts(counts))", json: json,
            ConversionAnswer(plain: target, encrypted: file, tables: counts))
    }
}

/// What `encrypt` and `decrypt` print with `--json`.
private struct ConversionAnswer: Encodable {
    let plain: String
    let encrypted: String
    /// The number of rows of each table.
    let tables: [String: Int]
}

/// A text such as "3 rows in 1 table".
struct RowCounts: CustomStringConvertible {
    let description: String

    init(_ counts: [String: Int]) {
        let rows = counts.values.reduce(0, +)
        description =
            "\(rows) \(rows == 1 ? "row" : "rows") in \(counts.count) "
            + (counts.count == 1 ? "table" : "tables")
    }
}
