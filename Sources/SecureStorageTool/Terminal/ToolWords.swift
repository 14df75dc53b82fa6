internal import Foundation

/// Errors of the library name its API; here they name what the tool has instead.
enum ToolWords {
    private static let replacements: [(library: String, tool: String)] = [
        (
            "pass the key to open(with:) or changeEncryptionKey(with:)",
            "the key comes from --key-file and the like, and \"securestorage rekey\" changes it"
        ),
        (
            "the store does this itself; see open(with:), changeEncryptionKey(with:) and "
                + "SecureDatabaseConfiguration",
            "the tool does this itself"
        ),
        (
            "SecureDatabaseConfiguration.synchronous sets how durable a commit is",
            "the tool always waits for the disk"
        ),
        (
            "SecureDatabaseConfiguration.journalMode sets it",
            "the tool keeps the mode of a file, and creates files in WAL"
        ),
        (
            "SecureDatabaseConfiguration.cipher sets how the file is encrypted",
            "--page-size and the like tell how the file is encrypted"
        ),
        (
            "CipherConfiguration.pageSize is for new files",
            "--page-size is for new files"
        ),
        (
            "; see SecureDatabaseConfiguration.cacheSize", ", and the tool does not set it"
        ),
        (
            "SecureDatabaseStore.migrate(at:key:) converts a file to the format",
            "\"securestorage migrate\" converts a file"
        ),
        (
            "the store runs checkpoints itself; see checkpoint(_:)",
            "the tool runs checkpoints itself"
        ),
        ("use checkpoint(_:)", "PRAGMA wal_checkpoint is for that"),
        ("vacuum(into:) or backup(to:)", "\"securestorage backup\""),
        ("set configuration.cipher.pageSize", "use --page-size"),
        ("set cipher.plaintextHeaderSize", "use --plaintext-header"),
        ("set cipher.salt", "use --salt"),
        ("leave it nil, or use --plaintext-header", "leave it out, or use --plaintext-header"),
        ("cipher.salt is only", "--salt is only"),
        ("; use executeStatements for a batch", ""),
    ]

    static func text(_ message: String) -> String {
        replacements.reduce(message) { $0.replacingOccurrences(of: $1.library, with: $1.tool) }
    }
}
