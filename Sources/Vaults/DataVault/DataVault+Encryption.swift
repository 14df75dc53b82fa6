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
                return try opened.encryption.seal(
                    data, table: "datavault", column: "encrypted", row: .text(id))
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
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` for what was changed, or is another vault's.
    public func decrypt(_ data: Data) throws -> Data {
        try withOpened { opened in
            try DataVaultError.reading {
                try opened.encryption.open(
                    data, table: "datavault", column: "encrypted", row: .text(id))
            }
        }
    }

    /// Encrypts a file's bytes from where it stands to its end, in the memory of a few chunks.
    ///
    /// The vault counts as used meanwhile.
    ///
    /// - Parameters:
    ///   - source: Is read to its end.
    ///   - destination: Is written to; it is neither synced nor closed.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with what reading or writing has thrown.
    public func encrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.writing {
                try SealedStream.seal(
                    source, to: destination, with: opened.encryption, context: streamContext)
            }
        }
    }

    /// Decrypts what this vault has encrypted as a stream.
    ///
    /// - Parameters:
    ///   - source: Is read to its end.
    ///   - destination: Is written to. What has been written when an error is thrown is authentic, but not
    ///     all: remove it.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError` for what was changed or cut short, is another
    ///   vault's, or with what reading or writing has thrown.
    public func decrypt(_ source: FileHandle, to destination: FileHandle) throws {
        try withOpened { opened in
            try DataVaultError.reading {
                try SealedStream.open(
                    source, to: destination, with: opened.encryption, context: streamContext)
            }
        }
    }

    /// Begins a stream for data that comes piece by piece.
    ///
    /// - Parameter output: Gets the bytes of the stream, in order.
    /// - Returns: The stream, for one thread at a time; it can be ended also after the vault was locked.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioWriteError` with what `output` has thrown.
    public func encryptingStream(
        to output: @escaping (Data) throws -> Void
    ) throws -> SealedStreamWriter {
        try withOpened { opened in
            try DataVaultError.writing {
                try SealedStreamWriter(
                    with: opened.encryption, context: streamContext, to: output)
            }
        }
    }

    /// Begins to read a stream that this vault has encrypted.
    ///
    /// - Parameter input: Returns the stream's next bytes: at most as many as it is asked for, none at the end.
    /// - Returns: The stream, for one thread at a time; it can be read to its end also after the vault was locked.
    /// - Throws: `DataVaultError`: `.locked`, `.doesNotExist`; `.ioReadError`.
    public func decryptingStream(
        from input: @escaping (Int) throws -> Data
    ) throws -> SealedStreamReader {
        try withOpened { opened in
            try DataVaultError.reading {
                try SealedStreamReader(
                    with: opened.encryption, context: streamContext, from: input)
            }
        }
    }

    private var streamContext: Data { Data(id.utf8) }
}
