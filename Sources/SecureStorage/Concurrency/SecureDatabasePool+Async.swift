public import Foundation

// The same calls for tasks. None of them blocks a thread of the cooperative pool: the block runs on
// a thread of Dispatch's when it is its turn, among the synchronous calls, in the order of their
// arrival. Cancelling the task does what it does to a call of the queue; see
// `SecureDatabaseQueue+Async`.

extension SecureDatabasePool {
    /// Runs `block` with a read-only connection that sees the file as it is when the block begins.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func read<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        return try await AsyncCall.perform { call in
            connections.enqueue { [self] slot in
                do {
                    let slot = try slot.get()
                    if call.isWaiting {
                        try read(in: slot) { try call.run(on: $0, block) }
                    } else {
                        connections.leave(slot.place, with: slot.reader)
                    }
                    // When the slot is free again: else a task's next call would find it taken.
                    call.finish()
                } catch {
                    call.finish(error)
                }
            }
        }
    }

    /// Runs `block` in an immediate transaction that is committed at its end.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call, after rolling back; `CancellationError`, likewise.
    public func write<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try await writeWithoutTransaction { writer in
            try writer.inImmediateTransaction { try block($0) }
        }
    }

    /// Runs `block` with the writer, without a transaction around it.
    ///
    /// - Parameter block: Runs on a thread of its own; a synchronous call inside it is part of it.
    /// - Returns: What the block returns.
    /// - Throws: As the synchronous call; `CancellationError`.
    public func writeWithoutTransaction<T: Sendable>(
        _ block: @escaping @Sendable (SecureDatabaseStore) throws -> T
    ) async throws -> T {
        try requireHome()
        return try await AsyncCall.perform { call in
            connections.writer.turn.enqueue { [self] in
                do {
                    if call.isWaiting { try writeInTurn { try call.run(on: $0, block) } }
                    call.finish()
                } catch {
                    call.finish(error)
                }
            }
        }
    }

    /// Moves the write-ahead log into the file.
    ///
    /// - Parameters:
    ///   - mode: How far to go.
    ///   - database: The name of an attached database, `"main"`, or nil for all of them.
    /// - Returns: The frames of the log, and those of them that are in the file now.
    /// - Throws: As the synchronous call; `CancellationError`.
    @discardableResult
    public func checkpoint(
        _ mode: CheckpointMode = .passive, database: String? = nil
    ) async throws -> (logFrames: Int, checkpointedFrames: Int) {
        try await writeWithoutTransaction { try $0.checkpoint(mode, database: database) }
    }
}

// These are not ended half way: cancelling the task does nothing to them.

extension SecureDatabasePool {
    /// Opens the file with a passphrase, and makes it when it does not exist.
    ///
    /// - Parameters:
    ///   - encryptionKey: As for `SecureDatabaseStore.open(with:initializationHandler:)`.
    ///   - initializationHandler: As there; runs on a thread of its own and cannot call the pool.
    /// - Throws: As the synchronous call.
    public func open(
        with encryptionKey: String,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await open(
            with: .passphrase(encryptionKey), initializationHandler: initializationHandler)
    }

    /// Opens the file with a raw key, and makes it when it does not exist.
    ///
    /// - Parameters:
    ///   - encryptionKeyData: Exactly 32 bytes.
    ///   - initializationHandler: Runs on a thread of its own and cannot call the pool.
    /// - Throws: As the synchronous call.
    public func open(
        with encryptionKeyData: Data,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await open(
            with: .raw(SecretBytes(copying: encryptionKeyData)),
            initializationHandler: initializationHandler)
    }

    /// Opens the file with a key that is cleared from memory, and makes it when it does not exist.
    ///
    /// - Parameters:
    ///   - key: A passphrase or a raw key.
    ///   - initializationHandler: Runs on a thread of its own and cannot call the pool.
    /// - Throws: As the synchronous call.
    public func open(
        with key: DatabaseKey,
        initializationHandler: @escaping @Sendable (SecureDatabaseStore) -> (any Error)? =
            SecureDatabaseStore.defaultInitializationHandler
    ) async throws {
        try await onOwnThread { pool in
            try pool.open(with: key, initializationHandler: initializationHandler)
        }
    }

    /// Closes the pool: waits for the blocks that are running, then closes all connections.
    public func close() async {
        try? await onOwnThread { $0.close() }
    }

    /// Re-encrypts the whole file with a new passphrase.
    ///
    /// - Parameter newEncryptionKey: At least one byte.
    /// - Throws: As the synchronous call.
    public func changeEncryptionKey(with newEncryptionKey: String) async throws {
        try await changeEncryptionKey(with: .passphrase(newEncryptionKey))
    }

    /// Re-encrypts the whole file with a new raw key.
    ///
    /// - Parameter newEncryptionKeyData: Exactly 32 random bytes.
    /// - Throws: As the synchronous call.
    public func changeEncryptionKey(with newEncryptionKeyData: Data) async throws {
        try await changeEncryptionKey(with: .raw(SecretBytes(copying: newEncryptionKeyData)))
    }

    /// Re-encrypts the whole file with a new key.
    ///
    /// - Parameter newKey: A passphrase or a raw key.
    /// - Throws: As the synchronous call.
    public func changeEncryptionKey(with newKey: DatabaseKey) async throws {
        try await onOwnThread { try $0.changeEncryptionKey(with: newKey) }
    }

    private func onOwnThread(
        _ body: @escaping @Sendable (SecureDatabasePool) throws -> Void
    ) async throws {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "SecureStorage").async { [self] in
                continuation.resume(with: Result { try body(self) })
            }
        }
    }
}
