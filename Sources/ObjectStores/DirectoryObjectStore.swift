internal import CSecureStoragePlatform
public import Foundation
internal import SecureStoragePlatform

/// Objects as files below a directory: on another disk, a mounted share, or for tests.
///
/// An object is written under a temporary name, synced, and linked to its name with `link(2)`,
/// which fails if the name exists. The file system must have hard links; FAT has none. The
/// directory is created on first use if its parent exists, readable by its owner only. Several
/// processes and machines may use it together. A share that is not mounted looks like an empty
/// store; sync does not reset a group there. Symbolic links below the directory are not objects and
/// are not followed, so others who can write to a share cannot redirect the store to other files.
///
/// Calls are not retried automatically.
public struct DirectoryObjectStore: ObjectStore, PlacedStore {
    let root: String

    /// The maximum number of objects in a page of a list.
    static let pageSize = 1000

    /// The maximum size of an object in bytes.
    private static let largestObject = 64 << 20

    /// Creates a store.
    ///
    /// - Parameter directory: A file URL; its parent must exist when the first object is created.
    public init(directory: URL) { root = directory.standardizedFileURL.path }

    package var place: String { "the directory \"\(root)\"" }

    // MARK: - Objects

    /// Creates an object by linking a complete file to its name.
    public func create(_ name: String, _ bytes: Data) async throws -> Bool {
        try ObjectName.check(name)
        return try await onOwnThread { try createNow(name, bytes) }
    }

    private func createNow(_ name: String, _ bytes: Data) throws -> Bool {
        // Before the content is written: most calls that fail do not need it.
        if let place = try place(of: name), !removeStranger(at: place) {
            // The process that linked it may have been killed before this.
            guard place.directory.syncNames() else { throw Self.failure("sync a directory", EIO) }
            return false
        }
        return try withDraft(of: bytes) { root, draft in
            let code = try naming(name) {
                linkat(root.number, draft, $0.directory.number, $0.name, 0)
            }
            switch code {
            case 0: return true
            case EEXIST: return false
            case EPERM, ENOTSUP, EMLINK:
                throw StoreError.cannotCreateOnly("its file system has no hard links")
            default: throw Self.failure("create an object", code)
            }
        }
    }

    /// Returns a file's content; nil if there is none.
    public func read(_ name: String) async throws -> Data? {
        try ObjectName.check(name)
        return try await onOwnThread {
            do {
                guard let place = try place(of: name) else { return nil }
                let file = try Descriptor(
                    place.name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW, in: place.directory)
                let status = try file.status()
                guard status.st_mode & S_IFMT == S_IFREG else { return nil }
                guard status.st_size <= Self.largestObject else {
                    throw StoreError.objectTooLarge(name)
                }
                var bytes = Data(count: Int(status.st_size))
                let count = try bytes.withUnsafeMutableBytes { try file.read(into: $0, at: 0) }
                return bytes.prefix(count)
            } catch let error as SystemError {
                guard !Self.isNothing(error.code) else { return nil }
                throw Self.failure("read an object", error.code)
            }
        }
    }

    /// Removes files, and directories that become empty.
    public func remove(_ names: [String]) async throws {
        for name in names { try ObjectName.check(name) }
        try await onOwnThread {
            var directories: Set<String> = []
            for name in names {
                guard let place = try place(of: name) else { continue }
                guard unlinkat(place.directory.number, place.name, 0) == 0 || Self.isNothing(errno)
                else { throw Self.failure("remove an object") }
                directories.insert(Self.parent(name))
            }
            for directory in directories {
                // Directories with other content stay.
                var empty = directory
                while !empty.isEmpty, let place = try place(of: empty),
                    unlinkat(place.directory.number, place.name, AT_REMOVEDIR) == 0
                {
                    empty = Self.parent(empty)
                }
                try self.directory(empty)?.syncNames()
            }
        }
    }

    // MARK: - Lists

    /// Returns up to 1000 objects; files whose names are not object names are left out.
    public func list(_ prefix: String, after: String?) async throws -> ObjectPage {
        try ObjectName.check(prefix: prefix)
        return try await onOwnThread {
            var found: [StoredObject] = []
            try collect("", prefix, after, &found)
            return ObjectPage(found, isTruncated: found.count == Self.pageSize)
        }
    }

    /// Adds the objects below a directory, given as the beginning of their names.
    private func collect(
        _ directory: String, _ prefix: String, _ after: String?, _ found: inout [StoredObject]
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
            } else {
                found.append(StoredObject(name: entry.name, size: entry.size))
            }
        }
    }

    /// Returns a directory's wanted entries, in the order of the names below them: a directory's
    /// name ends with `/`.
    ///
    /// Names are ASCII, which `String` sorts by bytes.
    private func entries(
        of directory: String, where isWanted: (_ name: String, _ isDirectory: Bool) -> Bool
    ) throws -> [(name: String, isDirectory: Bool, size: Int)] {
        guard let descriptor = try self.directory(String(directory.dropLast())) else { return [] }
        // The stream closes its own descriptor.
        guard let stream = fdopendir(dup(descriptor.number)) else {
            throw Self.failure("list objects")
        }
        defer { closedir(stream) }
        var entries: [(name: String, isDirectory: Bool, size: Int)] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw Self.failure("list objects") }
                break
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            // Temporary files and other people's files are not objects.
            guard ObjectName.isValid(name) else { continue }
            var kind: mode_t = 0
            switch Int32(entry.pointee.d_type) {
            case Int32(DT_DIR): kind = S_IFDIR
            case Int32(DT_REG): kind = S_IFREG
            // Not every file system reports an entry's type.
            case Int32(DT_UNKNOWN):
                kind = Self.status((descriptor, name)).map { $0.st_mode & S_IFMT } ?? 0
            default: continue
            }
            let path = directory + name + (kind == S_IFDIR ? "/" : "")
            guard kind == S_IFDIR || kind == S_IFREG, isWanted(path, kind == S_IFDIR) else {
                continue
            }
            if kind == S_IFDIR {
                entries.append((path, true, 0))
            } else if let status = Self.status((descriptor, name)) {
                // Otherwise it has been removed.
                entries.append((path, false, Int(status.st_size)))
            }
        }
        return entries.sorted { $0.name < $1.name }
    }

    // MARK: - Marks

    /// Sets a mark by renaming a complete file.
    public func mark(_ name: String, _ bytes: Data) async throws {
        try ObjectName.check(name)
        try await onOwnThread {
            try withDraft(of: bytes) { root, draft in
                let code = try naming(name) {
                    renameat(root.number, draft, $0.directory.number, $0.name)
                }
                guard code == 0 else { throw Self.failure("set a mark", code) }
            }
        }
    }

    /// Waits by checking the file at least every half second.
    public func waitForMark(
        _ name: String, since tag: String?, atMost limit: Duration
    ) async throws -> String? {
        try ObjectName.check(name)
        let end = ContinuousClock.now + limit
        var pause = Duration.milliseconds(10)
        while true {
            let now = self.tag(name)
            if let now, now != tag { return now }
            let rest = end - ContinuousClock.now
            guard rest > .zero else { return nil }
            try await Task.sleep(for: min(pause, rest))
            pause = min(pause * 2, .milliseconds(500))
        }
    }

    /// The identity of a mark's file: each mark is a new file.
    private func tag(_ name: String) -> String? {
        guard let place = try? place(of: name), var status = Self.status(place) else { return nil }
        var time: [Int64] = [0, 0]
        cplatform_modified(&status, &time)
        return "\(status.st_ino)-\(time[0])-\(time[1])"
    }

    /// Runs `body` with a synced file of `bytes`, which is removed if it is still there afterwards.
    private func withDraft<R>(
        of bytes: Data, _ body: (_ root: Descriptor, _ draft: String) throws -> R
    ) throws -> R {
        guard mkdir(root, 0o700) == 0 || errno == EEXIST else {
            let code = errno
            // The parent is not created here: its share may not be mounted.
            let advice = code == ENOENT ? "; make the directory that it is in, or mount it" : ""
            throw Self.failure("make the store's directory \"\(root)\"", code, advice)
        }
        let draft = ".draft-\(UUID().uuidString)"
        let directory: Descriptor
        do {
            directory = try Descriptor(root, O_RDONLY | O_DIRECTORY)
            let file = try Descriptor(creating: draft, in: directory)
            try bytes.withUnsafeBytes { try file.write($0) }
            try file.sync()
        } catch let error as SystemError {
            unlink("\(root)/\(draft)")
            throw Self.failure("write an object", error.code)
        }
        defer { unlinkat(directory.number, draft, 0) }
        return try body(directory, draft)
    }
}
