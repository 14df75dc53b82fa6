internal import Foundation

/// Makes a new file with the content of a database, of another kind of file, and checks it.
struct Conversion {
    let source: Connection
    /// nil for a plain file.
    let key: EncryptionKey?
    let cipher: CipherConfiguration

    func write(
        to file: NewFile, _ progress: FileProgress.Handler
    ) throws -> [String: Int] {
        try file.make(timeout: source.configuration.busyTimeout) { draft in
            try fill(draft, progress)
        }
    }

    /// Writes and checks the draft.
    func fill(
        _ draft: DatabaseFile, _ progress: FileProgress.Handler
    ) throws -> [String: Int] {
        let derived = try key.map { key in
            try key.derived(salt: Self.salt(of: key, cipher), cipher: cipher)
        }
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher
        configuration.logger = source.logger
        let target = try Connection.open(
            draft.path, content: derived.map { .encrypted(.derived($0)) } ?? .plaintext,
            configuration: configuration)
        defer { target.close() }
        // A draft that is not finished is of no use to anybody.
        try target.text("PRAGMA journal_mode = OFF")
        if derived == nil { try target.text("PRAGMA page_size = \(cipher.pageSize)") }
        let counts = try ContentCopy(source: source, target: target).run {
            try progress(FileProgress($0.completed, of: $0.total * 2))
        }
        target.close()
        try DraftCheck(draft: draft, key: derived, configuration: configuration).run {
            try progress(FileProgress($0.total + $0.completed, of: $0.total * 2))
        }
        return counts
    }

    /// Of a new file: its own where there is a choice.
    private static func salt(
        of key: EncryptionKey, _ cipher: CipherConfiguration
    ) throws -> [UInt8] {
        if case .rawWithSalt(_, let salt) = key { return salt }
        guard cipher.plaintextHeaderSize > 0 else {
            return (0..<CipherConfiguration.saltLength).map { _ in .random(in: .min ... .max) }
        }
        guard let salt = cipher.salt else { throw CipherConfiguration.missingSalt }
        return Array(salt)
    }
}

extension Reopening {
    /// Opens the file to copy its content.
    func openContent(_ configuration: SecureDatabaseConfiguration) throws -> Connection {
        try withEachKey {
            try Connection.open(
                path, content: .encrypted(.derived($0)), configuration: configuration)
        }
    }
}
