public import Foundation

extension SecureDatabaseStore {
    /// Re-encrypts the whole file with a new passphrase, in one transaction of the engine.
    ///
    /// Takes as long as reading and writing the whole file once, and as much free disk space. A
    /// kill at any point leaves a file that opens with exactly one of the two keys and holds all
    /// committed rows. Other connections to the file have to be opened again afterwards; until then
    /// their calls throw `.authenticationFailed`.
    ///
    /// After a failure of the disk in the middle the store opens the file anew by itself: temporary
    /// tables and attached databases are gone then.
    ///
    /// - Parameter newEncryptionKey: As for ``open(with:initializationHandler:)-(String,_)``.
    /// - Throws: `.closed` on a closed store, `.suspended` on one whose queue is;
    ///   `.encryptionKeyChangeFailed` otherwise, and the old key still opens the file: for an empty
    ///   key, inside a transaction, while a result set is open, for a read-only store, a full disk
    ///   or a lock of another connection (code 5). `.encryptionKeyChangeUnknown` when the disk
    ///   fails so that the outcome cannot be read, or may not outlive a power cut: keep both keys,
    ///   and repeat the call. When it returns, the new key is the file's.
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
    ///   - newKey: A passphrase or a raw key; a salt, when there is one, is the file's.
    ///   - progress: Told of every megabyte, in pages, each re-encrypted and then written into the
    ///     file. What it throws before the commit ends the work, and the old key stays; afterwards
    ///     it is too late.
    /// - Throws: `.encryptionKeyChangeFailed` also for a raw key or a salt of another length, and
    ///   another salt than the file's; what `progress` throws.
    public func changeEncryptionKey(
        with newKey: DatabaseKey, progress: FileProgress.Handler = { _ in }
    ) throws {
        let connection = try openConnection()
        do {
            try connection.callbacks.requireOutside("the key cannot be changed")
            guard !hasReaders else {
                throw SecureStorageError.statementFailed(
                    .misuse, "the store is a pool's; use the pool's changeEncryptionKey")
            }
            guard !connection.isInTransaction else {
                throw SecureStorageError.statementFailed(
                    .misuse, "a transaction is open; commit it or roll it back first")
            }
            // In the block of a batch a statement runs that is no result set.
            guard !hasOpenResultSets, !connection.hasRunningStatement else {
                throw SecureStorageError.statementFailed(
                    .busy, "a result set is open, or a batch is running; end it first")
            }
            let key = try EncryptionKey(newKey)
            try RekeyProgress.run({
                try bounds.check()
                try progress($0)
                try connection.callbacks.reportRefusedClose()
            }) { progress in
                do {
                    try rekey(connection, with: key, progress)
                } catch let unknown as UnknownOutcome {
                    throw unknown
                } catch {
                    // Ended by the caller, and the file was found with its old key.
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

    /// What is not the library's failure to change the key.
    private struct Cancelled: Error {
        let reason: any Error
    }

    /// Either key may be the file's.
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
            // Of the key derivation.
            .encryptionKeyChangeFailed(
                code: ResultCode.error.rawValue,
                message: "the new key could not be derived (\(type(of: error)))")
        }
    }

    private func rekey(
        _ connection: Connection, with key: EncryptionKey, _ progress: RekeyProgress
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
            reopening = Reopening(path: connection.path, keys: [newKey, oldKey])
            try settle(connection.path, newKey, oldKey)
        }
    }

    /// Finds out which key is the file's after a re-key that the engine has not finished.
    ///
    /// Its transaction was either committed or will be rolled back by the next connection, which is
    /// this one where the disk allows it. What is said to the caller has to hold after a power cut
    /// too, so a key is only called the file's when nothing of the other one is left.
    private func settle(
        _ path: String, _ newKey: DerivedKey, _ oldKey: DerivedKey
    ) throws {
        let reopened = try? openConnection()
        if let reopened, reopened.key?.key === newKey.key {
            // Only the look at the outcome had failed.
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
            // A log whose last commit could not be synced is overwritten.
            isOld = (try? isUnchanged()) ?? false
        }
        guard isOld else {
            throw UnknownOutcome(
                reason: "the disk failed at the commit, and what the file has now cannot be read "
                    + "for certain")
        }
        throw SecureStorageError.statementFailed(
            .error,
            "the file could not be rewritten (a full disk, or an input or output error); the old "
                + "key still opens it")
    }
}

extension SecureDatabaseStore {
    /// How the file can be opened now: with its key, or one of two when a change of the key has
    /// failed and the file could not be looked at since.
    var source: Reopening? {
        guard let connection, let key = connection.key else { return reopening }
        return Reopening(path: connection.path, keys: [key])
    }
}

/// How to open a file again whose re-key has failed: where there is no room for a side file or no
/// free descriptor, that may have to wait.
struct Reopening {
    let path: String
    /// One of them is the file's.
    let keys: [DerivedKey]
    /// Non-nil when it is not the database itself, but what a suspended pool reads.
    var copy: ReadableCopy?

    func open(_ configuration: SecureDatabaseConfiguration) throws -> Connection {
        try withEachKey(configuration) {
            try Connection.open(path, key: .derived($0), configuration: configuration)
        }
    }

    /// - Throws: What `open` throws; `.authenticationFailed` when somebody else has changed the
    ///   key.
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
                // Of the other key, as a rule: what has kept the right one from opening says more.
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
