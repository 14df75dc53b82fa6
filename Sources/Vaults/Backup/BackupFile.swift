internal import CPlatform
internal import Foundation

/// An open file that is read or written from beginning to end.
final class BackupFile {
    private let descriptor: Int32
    private let path: String

    /// Opens a file for reading.
    init(reading path: String) throws {
        // O_NONBLOCK: opening a FIFO would wait for a writer before it can be rejected.
        descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        self.path = path
        guard descriptor >= 0 else { throw failure("open") }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("examine") }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw VaultBackupError.notABackup(path: path)
        }
    }

    /// Creates a file with mode 0600; fails if one exists.
    init(making path: String) throws {
        descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        self.path = path
        guard descriptor >= 0 else { throw failure("create") }
        _ = fchmod(descriptor, 0o600)  // regardless of the umask
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    /// The size in bytes.
    func size() throws -> UInt64 {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw failure("examine") }
        return UInt64(status.st_size)
    }

    /// Returns the position of the next read.
    func position() throws -> off_t {
        let position = lseek(descriptor, 0, SEEK_CUR)
        guard position >= 0 else { throw failure("read") }
        return position
    }

    func seek(to position: off_t) throws {
        guard lseek(descriptor, position, SEEK_SET) == position else { throw failure("read") }
    }

    /// Returns the next bytes: none only at the end, otherwise up to `count`.
    func read(upTo count: Int) throws -> Data {
        var data = Data(count: count)
        let length = try data.withUnsafeMutableBytes { buffer in
            while true {
                let length = Foundation.read(descriptor, buffer.baseAddress, buffer.count)
                if length >= 0 { return length }
                guard errno == EINTR else { throw failure("read") }
            }
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
        try data.withUnsafeBytes { buffer in
            var rest = buffer[...]
            while !rest.isEmpty {
                let part = UnsafeRawBufferPointer(rebasing: rest)
                let length = Foundation.write(descriptor, part.baseAddress, part.count)
                if length < 0 {
                    guard errno == EINTR else { throw failure("write") }
                    continue
                }
                rest = rest.dropFirst(length)
            }
        }
    }

    /// Waits until the written bytes are on disk.
    func sync() throws {
        guard cplatform_sync(descriptor) == 0 else { throw failure("sync") }
    }

    private func failure(_ action: String) -> VaultBackupError {
        Self.failure(errno, action, path)
    }

    static func failure(_ code: Int32, _ action: String, _ path: String) -> VaultBackupError {
        guard ![ENOSPC, EDQUOT, EFBIG].contains(code) else { return .diskFull(path: path) }
        return .fileFailed(
            reason: "cannot \(action) \(KeyStoreError.quoted(path)): "
                + String(cString: strerror(code)))
    }
}
