internal import CSecureStoragePlatform
public import Foundation
internal import SecureStoragePlatform

/// Objects as files below a directory: on another disk, a mounted share, or for tests.
///
/// An object is written beside its place under another name, synced, and linked to its name with
/// `link(2)`, which fails if the name exists. The file system must have hard links; FAT has none.
/// The directory is created when it is first needed, if only that is missing, readable by its owner
/// only. Several processes and machines may use it together. A share that is not mounted cannot be
/// told from an empty store; sync asks nobody to begin anew there.
///
/// Nothing is repeated by itself.
public struct DirectoryObjectStore: SyncObjectStore, PlacedStore {
    private let root: String

    /// The most objects that a list returns at a time.
    static let pageSize = 1000

    /// The most bytes that an object may have.
    private static let largestObject = 64 << 20

    /// Creates a store.
    ///
    /// - Parameter directory: A file URL; its parent must exist when the first object is created.
    public init(directory: URL) { root = directory.standardizedFileURL.path }

    package var place: String { "the directory \"\(root)\"" }

    private func path(_ name: String) throws -> String {
        try SyncObjectName.check(name)
        return "\(root)/\(name)"
    }

    // MARK: - Objects

    /// Creates an object by linking a complete file to its name.
    public func create(_ name: String, _ bytes: Data) async throws -> Bool {
        let path = try path(name)
        return try await onOwnThread { try create(path, bytes) }
    }

    private func create(_ path: String, _ bytes: Data) throws -> Bool {
        // Before the content is written: most calls that fail have no need for it.
        if access(path, F_OK) == 0 {
            // Whoever has linked it may not have come to this.
            guard AtomicFile.syncDirectory(Self.parent(path)) else {
                throw Self.failure("sync a directory", EIO)
            }
            return false
        }
        return try withDraft(of: bytes) { draft in
            switch try naming(path, { link(draft, path) }) {
            case 0: return true
            case EEXIST: return false
            case EPERM, ENOTSUP, EMLINK:
                throw SyncError.storeCannotCreateOnly("its file system has no hard links")
            case let code: throw Self.failure("create an object", code)
            }
        }
    }

    /// Returns a file's content; nil if there is none.
    public func read(_ name: String) async throws -> Data? {
        let path = try path(name)
        return try await onOwnThread {
            do {
                let file = try Descriptor(path, O_RDONLY | O_NONBLOCK)
                let status = try file.status()
                guard status.st_mode & S_IFMT == S_IFREG else { return nil }
                guard status.st_size <= Self.largestObject else {
                    throw SyncError.damaged(name, "it is larger than an object can be")
                }
                var bytes = Data(count: Int(status.st_size))
                let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
                return bytes.prefix(count)
            } catch let error as SystemError {
                // A component may be an object itself.
                guard error.code != ENOENT, error.code != ENOTDIR else { return nil }
                throw Self.failure("read an object", error.code)
            }
        }
    }

    /// Removes files, and directories that are empty then.
    public func remove(_ names: [String]) async throws {
        let paths = try names.map(path)
        try await onOwnThread {
            var directories: Set<String> = []
            for path in paths {
                guard unlink(path) == 0 || [ENOENT, ENOTDIR].contains(errno) else {
                    throw Self.failure("remove an object")
                }
                directories.insert(Self.parent(path))
            }
            for directory in directories {
                // Those that hold something else stay.
                var empty = directory
                while empty.count > root.count, rmdir(empty) == 0 { empty = Self.parent(empty) }
                AtomicFile.syncDirectory(empty)
            }
        }
    }

    // MARK: - Lists

    /// Returns up to 1000 objects; files whose names are no names of objects are left out.
    public func list(_ prefix: String, after: String?) async throws -> SyncObjectPage {
        try SyncObjectName.check(prefix: prefix)
        return try await onOwnThread {
            var found: [SyncObject] = []
            try collect("", prefix, after, &found)
            return SyncObjectPage(found, isTruncated: found.count == Self.pageSize)
        }
    }

    /// Adds the objects below a directory, given as the beginning of their names.
    private func collect(
        _ directory: String, _ prefix: String, _ after: String?, _ found: inout [SyncObject]
    ) throws {
        let entries = try entries(of: directory) { name, isDirectory in
            if isDirectory {
                // Some name in it may begin with the prefix, and be greater than `after`.
                return (name.utf8.starts(with: prefix.utf8) || prefix.utf8.starts(with: name.utf8))
                    && after.map { $0 < name || $0.utf8.starts(with: name.utf8) }
                        != false
            }
            return name.utf8.starts(with: prefix.utf8)
                && after.map { $0 < name } != false
        }
        for entry in entries {
            guard found.count < Self.pageSize else { return }
            if entry.isDirectory {
                try collect(entry.name, prefix, after, &found)
            } else if let size = try Self.size("\(root)/\(entry.name)") {
                found.append(SyncObject(name: entry.name, size: size))
            }
        }
    }

    /// Returns those of a directory's entries that are wanted, in the order of the names below
    /// them: a directory's name ends with `/`.
    ///
    /// Names are ASCII, of which `String` has the order of bytes.
    private func entries(
        of directory: String, where isWanted: (_ name: String, _ isDirectory: Bool) -> Bool
    ) throws -> [(name: String, isDirectory: Bool)] {
        guard let stream = opendir("\(root)/\(directory)") else {
            guard errno == ENOENT || errno == ENOTDIR else { throw Self.failure("list objects") }
            return []
        }
        defer { closedir(stream) }
        var entries: [(name: String, isDirectory: Bool)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw Self.failure("list objects") }
                break
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            // Drafts, and whatever else others keep there, are no objects.
            guard SyncObjectName.isValid(name) else { continue }
            let isDirectory: Bool
            switch Int32(entry.pointee.d_type) {
            case Int32(DT_DIR): isDirectory = true
            case Int32(DT_REG): isDirectory = false
            default:
                // Not every file system says what an entry is; a link may be a directory.
                var status = stat()
                guard stat("\(root)/\(directory)\(name)", &status) == 0 else { continue }
                isDirectory = status.st_mode & S_IFMT == S_IFDIR
            }
            let path = directory + name + (isDirectory ? "/" : "")
            if isWanted(path, isDirectory) { entries.append((path, isDirectory)) }
        }
        return entries.sorted { $0.name < $1.name }
    }

    /// Returns a file's size; nil if it has been removed.
    private static func size(_ path: String) throws -> Int? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            guard errno == ENOENT else { throw failure("list objects") }
            return nil
        }
        return Int(status.st_size)
    }

    // MARK: - Marks

    /// Sets a mark by renaming a complete file.
    public func mark(_ name: String, _ bytes: Data) async throws {
        let path = try path(name)
        try await onOwnThread {
            try withDraft(of: bytes) { draft in
                let code = try naming(path) { rename(draft, path) }
                guard code == 0 else { throw Self.failure("set a mark", code) }
            }
        }
    }

    /// Waits by looking at the file, every half second at least.
    public func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        let path = try path(name)
        let end = ContinuousClock.now + limit
        var pause = Duration.milliseconds(10)
        while true {
            let now = Self.tag(path)
            if let now, now != tag { return now }
            let rest = end - ContinuousClock.now
            guard rest > .zero else { return nil }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// The identity of the file that a mark is: each mark is a new one.
    private static func tag(_ path: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        var time: [Int64] = [0, 0]
        cplatform_modified(&status, &time)
        return "\(status.st_ino)-\(time[0])-\(time[1])"
    }

    // MARK: - Files

    /// Runs `body` with a synced file of `bytes`, which is removed if it is still there afterwards.
    private func withDraft<R>(of bytes: Data, _ body: (String) throws -> R) throws -> R {
        guard mkdir(root, 0o700) == 0 || errno == EEXIST else {
            let code = errno
            // Not made here: the share that it is on may not be mounted.
            let advice = code == ENOENT ? "; make the directory that it is in, or mount it" : ""
            throw Self.failure("make the store's directory \"\(root)\"", code, advice)
        }
        let draft = "\(root)/.draft-\(UUID().uuidString)"
        defer { unlink(draft) }
        do {
            let file = try Descriptor(creating: draft)
            try bytes.withUnsafeBytes { try file.write($0) }
            try file.sync()
        } catch let error as SystemError {
            throw Self.failure("write an object", error.code)
        }
        return try body(draft)
    }

    /// Calls a function of the system that gives a file its name, makes the directories of the name
    /// if they are missing, and makes the name durable.
    ///
    /// - Returns: 0, or the `errno`.
    private func naming(_ path: String, _ call: () -> Int32) throws -> Int32 {
        // Another caller may remove an empty directory at any time.
        for _ in 1...100 {
            let code = call() == 0 ? 0 : errno
            if code == ENOENT {
                try makeDirectory(Self.parent(path))
                continue
            }
            if code == 0 || code == EEXIST, !AtomicFile.syncDirectory(Self.parent(path)) {
                throw Self.failure("sync a directory", EIO)
            }
            return code
        }
        return ENOENT
    }

    private func makeDirectory(_ path: String) throws {
        guard path.count > root.count else { return }
        try makeDirectory(Self.parent(path))
        if mkdir(path, 0o700) == 0 {
            AtomicFile.syncDirectory(Self.parent(path))
        } else if errno != EEXIST, errno != ENOENT {
            throw Self.failure("make a directory")
        }
    }

    private static func parent(_ path: String) -> String {
        (path as NSString).deletingLastPathComponent
    }

    private static func failure(
        _ action: String, _ code: Int32 = errno, _ advice: String = ""
    ) -> SyncError {
        .store(
            code: code == ENOENT ? "ENOENT" : code == ENOSPC ? "ENOSPC" : "errno \(code)",
            message: "cannot \(action): \(String(cString: strerror(code)))\(advice)",
            isTransient: [EAGAIN, ENOSPC, EDQUOT, ESTALE, ETIMEDOUT, ENOTCONN, EIO].contains(code))
    }
}
