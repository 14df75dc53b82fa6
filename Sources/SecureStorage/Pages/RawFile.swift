internal import CSecureStoragePlatform
internal import Foundation
internal import SecureStoragePlatform

/// A file's bytes as they are stored, read without leaving a trace: not even the access time
/// changes, where the system allows that.
final class RawFile: Sendable {
    private let descriptor: Descriptor
    private let identity: FileIdentity
    let path: String

    /// Opens a regular file for reading.
    ///
    /// - Throws: `.openFailed`.
    convenience init(_ path: String) throws {
        try self.init(path, Self.descriptor(of: path) ?? { throw Self.failure(path, ENOENT) }())
    }

    /// Opens a regular file for reading; nil when it does not exist.
    ///
    /// Not two steps, a check and an opening: a writer may make and remove its journal many times
    /// in between.
    ///
    /// - Throws: `.openFailed`.
    convenience init?(ifPresent path: String) throws {
        guard let descriptor = try Self.descriptor(of: path) else { return nil }
        self.init(path, descriptor)
    }

    private init(_ path: String, _ descriptor: Int32) {
        self.path = path
        self.descriptor = Descriptor(borrowing: descriptor)
        var status = stat()
        // Cannot fail for an open descriptor.
        _ = fstat(descriptor, &status)
        identity = FileIdentity(status)
    }

    deinit { OpenDescriptors.shared.giveBack(descriptor.number, of: identity) }

    /// Returns an open descriptor; nil when the file does not exist.
    private static func descriptor(of path: String) throws -> Int32? {
        if let identity = FileIdentity(path) {
            if let kept = OpenDescriptors.shared.takeBack(identity) { return kept }
        } else if errno == ENOENT {
            return nil
        }
        // Non-blocking, so that a pipe or a device of that name does not block.
        let descriptor = cplatform_open_untraced(
            path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
        if descriptor >= 0 { return descriptor }
        guard errno == ENOENT else { throw failure(path, errno) }
        return nil
    }

    private static func failure(_ path: String, _ code: Int32) -> SecureStorageError {
        DatabaseFile(resolvedPath: path).failure(DatabaseFile.reason(code))
    }

    /// Returns the length in bytes, as it is now.
    ///
    /// - Throws: `.openFailed` code `.ioError` when the disk fails.
    func size() throws -> Int {
        do {
            return Int(try descriptor.status().st_size)
        } catch let error as SystemError {
            throw DatabaseFile(resolvedPath: path).failure(
                "it cannot be examined: \(error.reason)", .ioError)
        }
    }

    /// The time of the last change, in seconds and nanoseconds.
    var modified: [Int64] {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0 else { return [] }
        var modified: [Int64] = [0, 0]
        cplatform_modified(&status, &modified)
        return modified
    }

    /// Waits until everything that any process has written to the file is on the disk.
    ///
    /// - Throws: `.openFailed` code `.ioError` when the disk fails.
    func sync() throws {
        do {
            try descriptor.sync()
        } catch let error as SystemError {
            throw DatabaseFile(resolvedPath: path).failure(
                "it cannot be synced: \(error.reason)", .ioError)
        }
    }

    /// Whether another process has the file open as a database: each connection of SQLite holds a
    /// lock on these bytes for as long as it uses a write-ahead log.
    var isOpenElsewhere: Bool {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (Int16(F_WRLCK), Int16(SEEK_SET))
        (lock.l_start, lock.l_len) = (0x4000_0002, 510)
        return fcntl(descriptor.number, F_GETLK, &lock) == 0 && lock.l_type != Int16(F_UNLCK)
    }

    /// Fills `buffer` from `offset` on.
    ///
    /// - Returns: The number of bytes read; fewer only at the end of the file.
    /// - Throws: `.openFailed` code `.ioError` when the disk fails.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int) throws -> Int {
        do {
            return try descriptor.read(into: buffer, at: offset)
        } catch let error as SystemError {
            throw DatabaseFile(resolvedPath: path).failure(
                "it cannot be read at byte \(offset): \(error.reason)", .ioError)
        }
    }

    /// Returns the next stored bytes at `offset` or after it; nil when only a hole follows, which
    /// reads as zeros.
    ///
    /// All of the file counts as stored where the system cannot find holes, or has allocated all
    /// its space.
    func storedBytes(from offset: Int) -> Range<Int>? {
        var status = stat()
        guard fstat(descriptor.number, &status) == 0, offset < status.st_size else { return nil }
        let rest = offset..<Int(status.st_size)
        guard Int(status.st_blocks) < rest.upperBound / 512 else { return rest }
        let start = Int(cplatform_next_data(descriptor.number, Int64(offset)))
        guard start >= 0 else { return errno == ENXIO ? nil : rest }
        let end = Int(cplatform_next_hole(descriptor.number, Int64(start)))
        return start..<(end > start ? end : max(rest.upperBound, start + 1))
    }

    /// Returns exactly `count` bytes from `offset` on; nil when the file ends before.
    func bytes(at offset: Int, count: Int) throws -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        let read = try bytes.withUnsafeMutableBytes { try self.read(into: $0, at: offset) }
        return read == count ? bytes : nil
    }
}
