internal import Foundation
internal import SecureStoragePlatform

// Locates the files of objects.
extension DirectoryObjectStore {
    /// An open directory, and a name in it.
    typealias Place = (directory: Descriptor, name: String)

    /// Opens the directory of a name, one component at a time, so that links are not followed; nil
    /// if it does not exist.
    func place(of name: String) throws -> Place? {
        let leaf = name.lastIndex(of: "/").map(name.index(after:)) ?? name.startIndex
        return try directory(Self.parent(name)).map { ($0, String(name[leaf...])) }
    }

    /// Opens the directory with this name; the root for an empty name.
    func directory(_ name: String) throws -> Descriptor? {
        do {
            var directory = try Descriptor(root, O_RDONLY | O_DIRECTORY)
            for component in name.split(separator: "/") {
                directory = try Descriptor(
                    String(component), O_RDONLY | O_DIRECTORY | O_NOFOLLOW, in: directory)
            }
            return directory
        } catch let error as SystemError {
            guard !Self.isNothing(error.code) else { return nil }
            throw Self.failure("open a directory", error.code)
        }
    }

    /// Whether an error means that something does not exist, or that a link or an object is in its
    /// place.
    static func isNothing(_ code: Int32) -> Bool {
        [ENOENT, ENOTDIR, ELOOP].contains(code)
    }

    /// Removes a link or an empty directory, which lists do not show, in an object's place.
    ///
    /// - Returns: Whether the place is free now.
    func removeStranger(at place: Place) -> Bool {
        guard let status = Self.status(place) else { return true }
        switch status.st_mode & S_IFMT {
        case S_IFREG: return false
        case S_IFDIR: return unlinkat(place.directory.number, place.name, AT_REMOVEDIR) == 0
        default: return unlinkat(place.directory.number, place.name, 0) == 0
        }
    }

    static func status(_ place: Place) -> stat? {
        var status = stat()
        let isThere =
            fstatat(place.directory.number, place.name, &status, AT_SYMLINK_NOFOLLOW) == 0
        return isThere ? status : nil
    }

    /// Calls a system function that names a file, creates missing directories of the name, and
    /// makes the name durable.
    ///
    /// - Returns: 0, or the `errno`.
    func naming(_ name: String, _ call: (Place) -> Int32) throws -> Int32 {
        // Another caller may remove an empty directory at any time.
        for _ in 1...100 {
            guard let place = try place(of: name) else {
                try makeDirectory(Self.parent(name))
                continue
            }
            let code = call(place) == 0 ? 0 : errno
            if code == ENOENT { continue }
            if code == 0 || code == EEXIST, !place.directory.syncNames() {
                throw Self.failure("sync a directory", EIO)
            }
            return code
        }
        return ENOENT
    }

    func makeDirectory(_ name: String) throws {
        guard !name.isEmpty else { return }
        try makeDirectory(Self.parent(name))
        // Another caller may have removed it since.
        guard let place = try place(of: name) else { return }
        if mkdirat(place.directory.number, place.name, 0o700) == 0 {
            place.directory.syncNames()
        } else if errno == EEXIST, Self.status(place).map({ $0.st_mode & S_IFMT }) != S_IFDIR {
            throw Self.failure("make a directory", ENOTDIR)
        } else if errno != EEXIST, errno != ENOENT {
            throw Self.failure("make a directory")
        }
    }

    /// The name of the directory that a name is in; empty for the root.
    static func parent(_ name: String) -> String {
        name.lastIndex(of: "/").map { String(name[..<$0]) } ?? ""
    }

    static func failure(
        _ action: String, _ code: Int32 = errno, _ advice: String = ""
    ) -> StoreError {
        .failed(
            code: code == ENOENT ? "ENOENT" : code == ENOSPC ? "ENOSPC" : "errno \(code)",
            message: "cannot \(action): \(String(cString: strerror(code)))\(advice)",
            isTransient: [EAGAIN, ENOSPC, EDQUOT, ESTALE, ETIMEDOUT, ENOTCONN, EIO].contains(code))
    }
}
