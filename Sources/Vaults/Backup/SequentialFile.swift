internal import Foundation
internal import SecureStoragePlatform

/// An open file that is read or written from beginning to end.
final class SequentialFile {
    private let descriptor: Descriptor
    private let path: String

    /// Opens a file for reading.
    init(reading path: String) throws {
        self.path = path
        // O_NONBLOCK: opening a FIFO would wait for a writer before it can be rejected.
        descriptor = try Self.failing(path) { () throws in
            try Descriptor(path, O_RDONLY | O_NONBLOCK)
        }
        guard try Self.failing(path, descriptor.status).st_mode & S_IFMT == S_IFREG else {
            throw VaultBackupError.notABackup(path: path)
        }
    }

    /// Creates a file with mode 0600; fails if one exists.
    init(making path: String) throws {
        self.path = path
        descriptor = try Self.failing(path) { () throws in
            try Descriptor(creating: path)
        }
    }

    /// The size in bytes.
    func size() throws -> UInt64 {
        UInt64(try Self.failing(path, descriptor.status).st_size)
    }

    /// Returns the position of the next read.
    func position() throws -> off_t {
        let position = lseek(descriptor.number, 0, SEEK_CUR)
        guard position >= 0 else { throw Self.failure(errno, "read", path) }
        return position
    }

    func seek(to position: off_t) throws {
        guard lseek(descriptor.number, position, SEEK_SET) == position else {
            throw Self.failure(errno, "read", path)
        }
    }

    /// Returns the next bytes: none only at the end, otherwise up to `count`.
    func read(upTo count: Int) throws -> Data {
        var data = Data(count: count)
        let length = try data.withUnsafeMutableBytes { buffer in
            try Self.failing(path) { try descriptor.read(into: buffer) }
        }
        if length < count { data.removeSubrange(length...) }
        return data
    }

    /// Returns exactly `count` bytes; fewer only at the end.
    func read(_ count: Int) throws -> Data {
        var data = Data()
        while data.count < count {
            let part = try read(upTo: count - data.count)
            if part.isEmpty { break }
            data.append(part)
        }
        return data
    }

    func write(_ data: Data) throws {
        try data.withUnsafeBytes { bytes in
            try Self.failing(path) { try descriptor.write(bytes) }
        }
    }

    /// Waits until the written bytes are on disk.
    func sync() throws { try Self.failing(path, descriptor.sync) }

    private static func failing<R>(
        _ path: String, _ body: () throws -> R
    ) throws -> R {
        do {
            return try body()
        } catch let error as SystemError {
            throw failure(error.code, error.action, path)
        }
    }

    static func failure(_ code: Int32, _ action: String, _ path: String) -> VaultBackupError {
        guard ![ENOSPC, EDQUOT, EFBIG].contains(code) else { return .diskFull(path: path) }
        return .fileFailed(
            reason: "cannot \(action) \(KeyStoreError.quoted(path)): "
                + String(cString: strerror(code)))
    }
}
