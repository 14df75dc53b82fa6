internal import Foundation
internal import Logging

/// A temporary file that is filled through a separate connection, and then checked.
struct NewContent {
    let draft: DatabaseFile
    /// nil for a plain file.
    let key: EncryptionKey?
    let cipher: CipherConfiguration
    let logger: Logger

    /// Lets `body` fill the file, in the first half of the progress, and checks it in the second.
    func fill<R>(
        _ progress: FileProgress.Handler, _ body: (Connection) throws -> R
    ) throws -> R {
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher
        configuration.logger = logger
        let target = try Connection.open(
            draft.path, content: key.map { .encrypted(.new($0)) } ?? .plaintext,
            configuration: configuration)
        defer { target.close() }
        // An unfinished file is useless, so its journal need not survive. Not OFF: a failed
        // statement, such as that of an index whose rows are not unique, must leave nothing behind.
        try target.text("PRAGMA journal_mode = MEMORY")
        let derived = target.key
        if derived == nil { try target.text("PRAGMA page_size = \(cipher.pageSize)") }
        let result = try body(target)
        target.close()
        try DraftCheck(draft: draft, key: derived, configuration: configuration).run {
            try progress($0.asSecondHalf)
        }
        return result
    }
}
