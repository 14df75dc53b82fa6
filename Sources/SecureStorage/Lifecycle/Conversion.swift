internal import Foundation

extension NewContent {
    /// Fills the new file with another database's content.
    func fill(
        from source: Connection, _ progress: FileProgress.Handler
    ) throws -> [String: Int] {
        try fill(progress) { target in
            try ContentCopy(source: source, target: target).run { try progress($0.asFirstHalf) }
        }
    }
}

extension NewFile {
    /// Creates the file with the content of another database.
    func make(
        from source: Connection, key: EncryptionKey?, cipher: CipherConfiguration,
        _ progress: FileProgress.Handler
    ) throws -> [String: Int] {
        try make(timeout: source.configuration.busyTimeout) { draft in
            try NewContent(draft: draft, key: key, cipher: cipher, logger: source.logger)
                .fill(from: source, progress)
        }
    }
}

extension Reopening {
    /// Opens the file to copy its content.
    func openContent(_ configuration: SecureDatabaseConfiguration) throws -> Connection {
        try withEachKey(configuration) {
            try Connection.open(
                path, content: .encrypted(.derived($0)), configuration: configuration)
        }
    }
}
