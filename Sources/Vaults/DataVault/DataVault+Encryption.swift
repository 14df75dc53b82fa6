public import Foundation
internal import SecureStorage

// These calls use a key of the vault itself: data encrypted with it is lost with the vault.

extension DataVault {
    /// Encrypts data with a key that lives as long as the vault, regardless of its password.
    ///
    /// XAES-256-GCM with a random nonce. Nothing is stored.
    ///
    /// - Parameter data: At most 1 GiB; use a stream for longer data.
    /// - Returns: 41 bytes more than the data.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`, `.valueTooLarge`.
    public func encrypt(_ data: Data) throws -> Data {
        try withOpened { opened in
            do {
                return try opened.encrypting {
                    try $0.present.seal(
                        data, table: "datavault", column: "encrypted", row: .text(id))
                }
            } catch EnvelopeError.limitReached {
                throw DataVaultError.valueTooLarge
            } catch {
                return try DataVaultError.writing { throw error }
            }
        }
    }

    /// Decrypts data that this vault has encrypted.
    ///
    /// - Parameter data: The bytes returned by `encrypt(_:)`.
    /// - Returns: The data.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` if the data was
    ///   changed or belongs to another vault.
    public func decrypt(_ data: Data) throws -> Data {
        try withOpened { opened in
            try DataVaultError.reading {
                try opened.encrypting {
                    try $0.open(data, table: "datavault", column: "encrypted", row: .text(id))
                }
            }
        }
    }

    /// Encrypts a file from its current position to its end, using the memory of a few chunks.
    ///
    /// The vault counts as used for the duration; a lock ends the call at the next chunk, with
    /// `.locked`.
    ///
    /// - Parameters:
    ///   - source: Read to its end.
    ///   - destination: Written to, but neither synced nor closed.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with the error of
    ///   reading or writing.
    public func encrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.writing {
                try writer(opened) { try destination.write(contentsOf: $0) }.writeAll(of: source)
            }
        }
    }

    /// Decrypts data that this vault has encrypted as a stream.
    ///
    /// - Parameters:
    ///   - source: Read to its end.
    ///   - destination: Written to. If an error is thrown, the data written so far is authentic but
    ///     incomplete: remove it.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` if the stream was
    ///   changed, was cut short or belongs to another vault, or with the error of reading or
    ///   writing.
    public func decrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.reading {
                try reader(opened) { try source.read(upToCount: $0) ?? Data() }
                    .readAll(to: destination)
            }
        }
    }

    /// Begins a stream for data that arrives piece by piece.
    ///
    /// - Parameter output: Receives the bytes of the stream, in order.
    /// - Returns: The stream, for one thread at a time. It needs the vault: after a lock it throws
    ///   `.locked` for each chunk.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with the error of
    ///   `output`.
    public func encryptingStream(
        to output: @escaping (Data) throws -> Void
    ) throws -> SealedStreamWriter {
        try withOpened { opened in
            try DataVaultError.writing { try writer(opened, to: output) }
        }
    }

    /// Begins to read a stream that this vault has encrypted.
    ///
    /// - Parameter input: Returns the next bytes of the stream: at most as many as requested, none
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
            with: opened.encryption.present, context: Data(id.utf8),
            lending: { try lend(opened, to: $0) }, to: output)
    }

    private func reader(
        _ opened: OpenedVault, from input: @escaping (Int) throws -> Data
    ) throws -> SealedStreamReader {
        try SealedStreamReader(
            choosing: opened.encryption.key, context: Data(id.utf8),
            lending: { try lend(opened, to: $0) }, from: input)
    }

    /// Makes each chunk of a stream a use of the vault, which must have stayed open since the
    /// beginning.
    private func lend(_ opened: OpenedVault, to cipher: SealedStreamCipher) throws {
        cipher.willUse = { [weak self, weak opened] in
            guard let self else { throw DataVaultError.locked }
            try self.withOpened { guard $0 === opened else { throw DataVaultError.locked } }
        }
        try opened.lend(to: cipher)
    }
}
