internal import CSecureStoragePlatform
package import Foundation

/// A failed system call: what it was to do, and its `errno`.
package struct SystemError: Error {
    package let action: String
    package let code: Int32

    /// The error of the call that has just failed.
    package init(_ action: String, code: Int32 = errno) {
        self.action = action
        self.code = code
    }

    /// The system's text for the code.
    package var reason: String { String(cString: strerror(code)) }
}

/// An open file or directory, closed with the last reference to it.
///
/// Calls that a signal interrupts are repeated. The position of the next `read` and `write` is the
/// descriptor's, so only one thread at a time may use these.
package final class Descriptor: Sendable {
    package let number: Int32
    private let isOwned: Bool

    package init(owning number: Int32) { (self.number, isOwned) = (number, true) }

    /// Uses a descriptor that others close.
    package init(borrowing number: Int32) { (self.number, isOwned) = (number, false) }

    /// Opens a file; a relative path begins in `directory`.
    package convenience init(
        _ path: String, _ flags: Int32, in directory: Descriptor? = nil
    ) throws {
        try self.init(path, flags, 0o600, directory)
    }

    /// Creates a file for writing, whose mode is independent of the umask; none may exist.
    package convenience init(
        creating path: String, mode: mode_t = 0o600, in directory: Descriptor? = nil
    ) throws {
        try self.init(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600, directory)
        guard fchmod(number, mode) == 0 else {
            let error = SystemError("create")
            unlinkat(directory?.number ?? AT_FDCWD, path, 0)
            throw error
        }
    }

    private init(
        _ path: String, _ flags: Int32, _ mode: mode_t, _ directory: Descriptor?
    ) throws {
        isOwned = true
        number = openat(directory?.number ?? AT_FDCWD, path, flags | O_CLOEXEC, mode)
        guard number >= 0 else { throw SystemError(flags & O_EXCL == 0 ? "open" : "create") }
    }

    deinit {
        if isOwned, number >= 0 { close(number) }
    }

    package func status() throws -> stat {
        var status = stat()
        guard fstat(number, &status) == 0 else { throw SystemError("examine") }
        return status
    }

    /// Whether the file still has this name.
    package func isNamed(_ path: String) -> Bool {
        var named = stat()
        guard lstat(path, &named) == 0, let own = try? status() else { return false }
        return own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }

    /// Takes an exclusive lock (`flock`), without waiting.
    ///
    /// - Returns: False if another holder has it.
    package func lock() throws -> Bool {
        while flock(number, LOCK_EX | LOCK_NB) != 0 {
            if errno == EWOULDBLOCK { return false }
            guard errno == EINTR else { throw SystemError("lock") }
        }
        return true
    }

    /// Reads the next bytes.
    ///
    /// - Returns: Their number; 0 only at the end of the file.
    package func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        try repeated("read") { Foundation.read(number, buffer.baseAddress, buffer.count) }
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// - Returns: Their number; fewer than fit only at the end of the file.
    package func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws -> Int {
        var done = 0
        while done < buffer.count {
            let count = try repeated("read") {
                pread(
                    number, buffer.baseAddress?.advanced(by: done), buffer.count - done,
                    off_t(offset + done))
            }
            if count == 0 { break }
            done += count
        }
        return done
    }

    /// Writes all bytes.
    package func write(_ bytes: UnsafeRawBufferPointer) throws {
        var done = 0
        while done < bytes.count {
            done += try repeated("write") {
                Foundation.write(
                    number, bytes.baseAddress?.advanced(by: done), bytes.count - done)
            }
        }
    }

    /// Writes all of `bytes` from `offset` on.
    package func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws {
        var done = 0
        while done < bytes.count {
            done += try repeated("write") {
                pwrite(
                    number, bytes.baseAddress?.advanced(by: done), bytes.count - done,
                    off_t(offset + done))
            }
        }
    }

    /// Ends the file after `size` bytes.
    package func truncate(to size: Int) throws {
        _ = try repeated("truncate") { Int(ftruncate(number, off_t(size))) }
    }

    /// Waits until the file's contents, or the directory's names, are on the disk.
    package func sync() throws {
        _ = try repeated("sync") { Int(cplatform_sync(number)) }
    }

    /// Makes the names in a directory durable.
    ///
    /// - Returns: False if the disk failed. True also if a sync is impossible: some file systems
    ///   cannot sync a directory.
    @discardableResult
    package func syncNames() -> Bool {
        do {
            try sync()
            return true
        } catch {
            return [EINVAL, ENOTSUP].contains((error as? SystemError)?.code)
        }
    }

    private func repeated(_ action: String, _ call: () -> Int) throws -> Int {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw SystemError(action) }
        }
    }
}
