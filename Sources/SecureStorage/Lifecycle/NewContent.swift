internal import Foundation
internal import Logging

/// A draft that is filled through a connection of its own, and then checked.
struct NewContent {
    let draft: DatabaseFile
    /// nil for a plain file.
    let key: EncryptionKey?
    let cipher: CipherConfiguration
    let logger: Logger

    /// Lets `body` fill the draft, in the first half of the progress, and checks it in the second.
    func fill<R>(
        _ progress: FileProgress.Handler, _ body: (Connection) throws -> R
    ) throws -> R {
        let derived = try key.map { try $0.derived(salt: salt(of: $0), cipher: cipher) }
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher
        configuration.logger = logger
        let target = try Connection.open(
            draft.path, content: derived.map { .encrypted(.derived($0)) } ?? .plaintext,
            configuration: configuration)
        defer { target.close() }
        // A draft that is not finished is of no use to anybody. Not OFF: a statement that fails, such as that
        // of an index whose rows are not unique, has to leave nothing behind.
        try target.text("PRAGMA journal_mode = MEMORY")
        if derived == nil { try target.text("PRAGMA page_size = \(cipher.pageSize)") }
        let result = try body(target)
        target.close()
        try DraftCheck(draft: draft, key: derived, configuration: configuration).run {
            try progress($0.asSecondHalf)
        }
        return result
    }

    /// Of a new file: its own where there is a choice.
    private func salt(of key: EncryptionKey) throws -> [UInt8] {
        if case .rawWithSalt(_, let salt) = key { return salt }
        guard cipher.plaintextHeaderSize > 0 else {
            return (0..<CipherConfiguration.saltLength).map { _ in .random(in: .min ... .max) }
        }
        guard let salt = cipher.salt else { throw CipherConfiguration.missingSalt }
        return Array(salt)
    }
}
