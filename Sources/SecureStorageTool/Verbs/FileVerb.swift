internal import ArgumentParser
internal import Foundation
internal import SecureStorage

/// The way in which a verb uses the file.
enum FileUse {
    case reading
    case writing
    /// Creates the file if it is missing.
    case creating
}

/// A verb for an encrypted file.
///
/// Each verb contains the two groups of options itself: the parser evaluates a group within a group
/// repeatedly, which takes a debug build 0.2 seconds.
protocol FileVerb: ParsableCommand {
    var file: String { get }
    var keyOptions: KeyOptions { get }
    var cipher: CipherOptions { get }
}

extension FileVerb {
    /// Whether the path exists.
    var exists: Bool { OutputFile.exists(file) }

    /// Requires that a file can be created, before anybody types a key for it.
    func requireNew(_ path: String, _ force: Bool) throws {
        guard force || !OutputFile.exists(path) else { throw Failure.exists(path) }
    }

    /// - Throws: the failure of a file that is too short for a database; for the library, that is
    ///   one of many reasons why a file cannot be opened.
    func requireContent() throws {
        var status = stat()
        guard lstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size < 2
        else { return }
        throw Failure(
            "\"\(file)\" has \(status.st_size) bytes: it was truncated, or never was a database",
            hint: "restore it from a backup, or remove it to start over", .notEncrypted)
    }

    /// The settings for an existing file that keeps the journal mode which its owner has chosen.
    func configurationOfExisting() throws -> SecureDatabaseConfiguration {
        guard exists else { throw Failure.noFile(file) }
        try requireContent()
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher.configuration
        configuration.keepsJournalMode = true
        return configuration
    }

    /// Returns a closed store on the file, and its key; `ofStrangers` is for SQL from untrusted
    /// sources.
    func storeAndKey(
        for use: FileUse, checksReferences: Bool = true, ofStrangers: Bool = false,
        busyTimeout: Duration? = nil, cacheSize: Int? = nil
    ) throws -> (SecureDatabaseStore, DatabaseKey) {
        guard exists || use == .creating else {
            throw Failure.noFile(file)
        }
        try requireContent()
        var configuration = SecureDatabaseConfiguration()
        configuration.cipher = cipher.configuration
        configuration.isReadOnly = use == .reading
        // Reading a file or changing its rows keeps the journal mode that its owner has chosen.
        configuration.keepsJournalMode = exists
        configuration.foreignKeysEnabled = checksReferences
        configuration.runsUntrustedSQL = ofStrangers
        if let busyTimeout { configuration.busyTimeout = busyTimeout }
        if let cacheSize { configuration.cacheSize = cacheSize }
        let store = SecureDatabaseStore(fullDatabasePath: file, configuration: configuration)
        return (store, try keyOptions.key(of: file, isNew: !exists))
    }

    /// Returns an open store; a wrong key that was typed is asked for again, twice.
    func open(for use: FileUse) throws -> SecureDatabaseStore {
        var (store, key) = try storeAndKey(for: use)
        var isTyped: Bool {
            keyOptions.keyFd == nil && keyOptions.keyFile == nil && keyOptions.keyEnv == nil
        }
        for _ in 1..<(isTyped ? Self.attempts : 1) {
            do {
                try explaining(key) { try store.open(with: key) }
                return store
            } catch SecureStorageError.authenticationFailed {
                Failure("wrong key; try again").report()
                key = try keyOptions.key(of: file, isNew: false)
            }
        }
        try explaining(key) { try store.open(with: key) }
        return store
    }

    /// Opens the file, and names the options of one that was made with other settings.
    func explaining<R>(_ key: DatabaseKey, _ open: () throws -> R) throws -> R {
        do {
            return try open()
        } catch let error as SecureStorageError {
            guard case .openFailed = error, error.resultCode?.primary == .notADatabase,
                let diagnosis = try? SecureDatabaseStore.diagnose(
                    at: URL(fileURLWithPath: file), key: key, cipher: cipher.configuration),
                case .otherCipher(let found) = diagnosis.finding
            else { throw error }
            throw Failure(
                error.description, hint: "pass \(cipher.options(for: found))", .otherFormat)
        }
    }

    private static var attempts: Int { 3 }
}
