public import Foundation

extension SecureDatabaseStore {
    /// Re-encrypts the whole file with a new passphrase, in one transaction of the engine.
    ///
    /// Takes as long as reading and writing the whole file once, and as much free disk space. A
    /// kill at any point leaves a file that opens with exactly one of the two keys and holds all
    /// committed rows. Other connections to the file must then be reopened; until then their calls
    /// throw `.authenticationFailed`.
    ///
    /// After a disk failure midway, the store reopens the file automatically; temporary tables and
    /// attached databases are lost.
    ///
    /// - Parameter newEncryptionKey: As for ``open(with:initializationHandler:)-(String,_)``.
    /// - Throws: `.closed` on a closed store, `.suspended` on one whose queue is suspended;
    ///   otherwise `.encryptionKeyChangeFailed`, and the old key still opens the file: for an empty
    ///   key, inside a transaction, while a result set is open, for a read-only store, a full disk
    ///   or a lock of another connection (code `.busy`). `.encryptionKeyChangeUnknown` when the
    ///   disk fails such that the outcome cannot be read, or might not survive a power cut: keep
    ///   both keys, and repeat the call. When the call returns, the file has the new key.
    public func changeEncryptionKey(with newEncryptionKey: String) throws {
        try changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the whole file with a new raw key; see ``changeEncryptionKey(with:)-(String)``.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: `.encryptionKeyChangeFailed` also for a key of another length.
    public func changeEncryptionKey(with newEncryptionKeyData: Data) throws {
        try changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }

    /// Re-encrypts the whole file with a new key; see ``changeEncryptionKey(with:)-(String)``.
    ///
    /// - Parameters:
    ///   - newKey: A passphrase or a raw key; a salt, if given, must be the file's.
    ///   - progress: Called every 256 pages (1 MB by default); each page counts once when
    ///     re-encrypted and once when written to the file. An error it throws before the commit
    ///     aborts the change, and the old key stays; after that, errors are ignored.
    /// - Throws: `.encryptionKeyChangeFailed` also for a raw key or a salt of another length, and
    ///   for a salt other than the file's; any error thrown by `progress`.
    public func changeEncryptionKey(
        with newKey: DatabaseKey, progress: FileProgress.Handler = { _ in }
    ) throws {
        let connection = try openConnection()
        do {
            try connection.callbacks.requireOutside("the key cannot be changed")
            guard !session.hasReaders else {
                throw SecureStorageError.statementFailed(
                    .misuse, "the store belongs to a pool; use the pool's changeEncryptionKey")
            }
            guard !connection.isInTransaction else {
                throw SecureStorageError.statementFailed(
                    .misuse, "a transaction is open; commit it or roll it back first")
            }
            // While a batch's block runs, a statement runs that has no result set.
            guard !hasOpenResultSets, !connection.hasRunningStatement else {
                throw SecureStorageError.statementFailed(
                    .busy, "a result set is open, or a batch is running; end it first")
            }
            let key = try EncryptionKey(newKey)
            try RekeyPageCounter.run({
                try bounds.check()
                try progress($0)
                try connection.callbacks.reportRefusedClose()
            }) { progress in
                do {
                    try rekey(connection, with: key, progress)
                } catch let unknown as UnknownOutcome {
                    throw unknown
                } catch {
                    // The caller aborted the change, and the file still has its old key.
                    guard let cancellation = progress.failure else { throw error }
                    throw Cancelled(reason: cancellation)
                }
            }
        } catch let cancelled as Cancelled {
            throw cancelled.reason
        } catch let unknown as UnknownOutcome {
            throw SecureStorageError.encryptionKeyChangeUnknown(
                code: ResultCode.ioError.rawValue, message: unknown.reason)
        } catch {
            throw Self.keyChangeFailure(error)
        }
    }

    /// An abort by the caller, as opposed to a failure of the library to change the key.
    private struct Cancelled: Error {
        let reason: any Error
    }

    /// The file may have either key.
    private struct UnknownOutcome: Error {
        let reason: String
    }

    private static func keyChangeFailure(_ error: any Error) -> SecureStorageError {
        switch error as? SecureStorageError {
        case .closed: .closed
        case .suspended: .suspended
        case .backingStoreError(let code, let message), .openFailed(let code, let message):
            .encryptionKeyChangeFailed(code: code, message: message)
        case .authenticationFailed(let message):
            .encryptionKeyChangeFailed(code: ResultCode.misuse.rawValue, message: message)
        case .some(let error):
            .encryptionKeyChangeFailed(
                code: ResultCode.error.rawValue, message: error.description)
        case nil:
            // A failure of the key derivation.
            .encryptionKeyChangeFailed(
                code: ResultCode.error.rawValue,
                message: "the new key could not be derived (\(type(of: error)))")
        }
    }

    private func rekey(
        _ connection: Connection, with key: EncryptionKey, _ progress: RekeyPageCounter
    ) throws {
        guard let oldKey = connection.key else { throw SecureStorageError.closed }
        let newKey = try connection.deriveForRekey(key)
        switch try connection.rekey(to: newKey, progress) {
        case .changed:
            return
        case .changedNotDurably:
            throw UnknownOutcome(
                reason:
                    "the new key opens the file, but the disk failed, and a power cut may bring "
                    + "the old key back")
        case .failed:
            closeConnection()
            session.reopening = Reopening(path: connection.path, keys: [newKey, oldKey])
            try settle(connection.path, newKey, oldKey)
        }
    }

    /// Determines which key the file has after a re-key that the engine did not complete.
    ///
    /// Its transaction was either committed or will be rolled back by the next connection, which is
    /// this one if the disk permits. The result reported to the caller must also hold after a power
    /// cut, so a key is reported as the file's only when nothing encrypted with the other one
    /// remains.
    private func settle(
        _ path: String, _ newKey: DerivedKey, _ oldKey: DerivedKey
    ) throws {
        let reopened = try? openConnection()
        if let reopened, reopened.key?.key === newKey.key {
            // Only reading the outcome had failed.
            guard !reopened.makeDurable() else { return }
            throw UnknownOutcome(
                reason:
                    "the new key opens the file, but the disk failed, and a power cut may bring "
                    + "the old key back")
        }
        let file = DatabaseFile(resolvedPath: path)
        func isUnchanged() throws -> Bool {
            try file.firstPages(configuration.cipher).isWritten(with: oldKey)
        }
        var isOld = (try? isUnchanged()) ?? false
        if !isOld, let reopened, reopened.makeDurable() {
            // This overwrites a log whose last commit could not be synced.
            isOld = (try? isUnchanged()) ?? false
        }
        guard isOld else {
            throw UnknownOutcome(
                reason: "the disk failed at the commit, and the file's current key cannot be "
                    + "determined")
        }
        throw SecureStorageError.statementFailed(
            .error,
            "the file could not be rewritten (a full disk, or an I/O error); the old "
                + "key still opens it")
    }
}

extension SecureDatabaseStore {
    /// How to open the file now: with its key, or with either of two when a key change failed and
    /// the outcome has not been determined since.
    var source: Reopening? {
        guard let connection, let key = connection.key else { return session.reopening }
        return Reopening(path: connection.path, keys: [key])
    }
}

/// How to reopen a file whose re-key failed, which may have to wait while no space for a sidecar
/// file or no free descriptor is available.
struct Reopening {
    let path: String
    /// The candidate keys, one of which is the file's.
    let keys: [DerivedKey]
    /// Non-nil when the path is not the database itself but the copy that a suspended pool reads.
    var copy: ReadableCopy?

    func open(_ configuration: SecureDatabaseConfiguration) throws -> Connection {
        try withEachKey(configuration) {
            try Connection.open(path, key: .derived($0), configuration: configuration)
        }
    }

    /// Opens the file with each key in turn until one works.
    ///
    /// - Throws: Any error thrown by `open`; `.authenticationFailed` when another connection has
    ///   changed the key.
    func withEachKey(
        _ configuration: SecureDatabaseConfiguration, _ open: (DerivedKey) throws -> Connection
    ) throws -> Connection {
        var failure: (any Error)?
        for key in keys {
            do {
                return try open(key)
            } catch SecureStorageError.backingStoreError(
                ResultCode.notADatabase.rawValue, let message)
            {
                // Usually the wrong key's error: the right key's error is more informative.
                failure =
                    failure
                    ?? SecureStorageError.backingStoreError(
                        code: ResultCode.notADatabase.rawValue, message: message)
            } catch {
                failure = error
            }
        }
        if let storageError = failure as? SecureStorageError,
            case .backingStoreError(ResultCode.notADatabase.rawValue, _) = storageError,
            (try? isUnderAnotherKey(configuration.cipher)) == true
        {
            throw SecureStorageError.foreignRekey(of: path)
        }
        throw failure ?? SecureStorageError.closed
    }

    private func isUnderAnotherKey(_ cipher: CipherConfiguration) throws -> Bool {
        let file = DatabaseFile(resolvedPath: path)
        return try keys.allSatisfy { try file.isUnderAnotherKey(than: $0, cipher) }
    }
}
