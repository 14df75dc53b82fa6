public import Foundation
internal import SecureStorage

// With a key of the vault's own: what it has encrypted is lost with the vault.

extension DataVault {
    /// Encrypts data with a key that lives as long as the vault, whatever its password.
    ///
    /// XAES-256-GCM with a random nonce. Nothing is stored.
    ///
    /// - Parameter data: At most 1 GiB; longer data is a stream.
    /// - Returns: 41 bytes more than the data.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`, `.valueTooLarge`.
    public func encrypt(_ data: Data) throws -> Data {
        try withOpened { opened in
            do {
                return try opened.encrypting {
                    try $0.seal(data, table: "datavault", column: "encrypted", row: .text(id))
                }
            } catch EnvelopeError.limitReached {
                throw DataVaultError.valueTooLarge
            } catch {
                return try DataVaultError.writing { throw error }
            }
        }
    }

    /// Decrypts what this vault has encrypted.
    ///
    /// - Parameter data: As `encrypt(_:)` has returned it.
    /// - Returns: The data.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` for what was changed,
    ///   or is another vault's.
    public func decrypt(_ data: Data) throws -> Data {
        try withOpened { opened in
            try DataVaultError.reading {
                try opened.encrypting {
                    try $0.open(data, table: "datavault", column: "encrypted", row: .text(id))
                }
            }
        }
    }

    /// Encrypts a file's bytes from where it stands to its end, in the memory of a few chunks.
    ///
    /// The vault counts as used meanwhile; a lock ends it at the next chunk, with `.locked`.
    ///
    /// - Parameters:
    ///   - source: Is read to its end.
    ///   - destination: Is written to; it is neither synced nor closed.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with what reading or
    ///   writing has thrown.
    public func encrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.writing {
                try writer(opened) { try destination.write(contentsOf: $0) }.writeAll(of: source)
            }
        }
    }

    /// Decrypts what this vault has encrypted as a stream.
    ///
    /// - Parameters:
    ///   - source: Is read to its end.
    ///   - destination: Is written to. What has been written when an error is thrown is authentic,
    ///     but not all: remove it.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` for what was changed
    ///   or cut short, is another vault's, or with what reading or writing has thrown.
    public func decrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.reading {
                try reader(opened) { try source.read(upToCount: $0) ?? Data() }
                    .readAll(to: destination)
            }
        }
    }

    /// Begins a stream for data that comes piece by piece.
    ///
    /// - Parameter output: Gets the bytes of the stream, in order.
    /// - Returns: The stream, for one thread at a time. It needs the vault: after a lock it throws
    ///   `.locked` for each chunk.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with what `output`
    ///   has thrown.
    public func encryptingStream(
        to output: @escaping (Data) throws -> Void
    ) throws -> SealedStreamWriter {
        try withOpened { opened in
            try DataVaultError.writing { try writer(opened, to: output) }
        }
    }

    /// Begins to read a stream that this vault has encrypted.
    ///
    /// - Parameter input: Returns the stream's next bytes: at most as many as it is asked for, none
    ///   at the end.
    /// - Returns: The stream, for one thread at a time. It needs the vault: after a lock it throws
    ///   `.locked` for each chunk.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError`.
    public func decryptingStream(
        from input: @escaping (Int) throws -> Data
    ) throws -> SealedStreamReader {
        try withOpened { opened in
            try DataVaultError.reading { try reader(opened, from: input) }
        }
    }

    private func writer(
        _ opened: OpenedVault, to output: @escaping (Data) throws -> Void
    ) throws -> SealedStreamWriter {
        try SealedStreamWriter(
            with: opened.encryption, context: Data(id.utf8),
            lending: { try lend(opened, to: $0) }, to: output)
    }

    private func reader(
        _ opened: OpenedVault, from input: @escaping (Int) throws -> Data
    ) throws -> SealedStreamReader {
        try SealedStreamReader(
            with: opened.encryption, context: Data(id.utf8),
            lending: { try lend(opened, to: $0) }, from: input)
    }

    /// Each chunk of a stream is a use of the vault, and needs it as open as it was at the
    /// beginning.
    private func lend(_ opened: OpenedVault, to cipher: SealedStreamCipher) throws {
        cipher.willUse = { [weak self, weak opened] in
            guard let self else { throw DataVaultError.locked }
            try self.withOpened { guard $0 === opened else { throw DataVaultError.locked } }
        }
        try opened.lend(to: cipher)
    }
}
