public import Foundation
internal import SecureStoragePlatform

extension SharedDatabase {
    /// Returns a directory that the programs of one user share: `$XDG_DATA_HOME/NAME`, or
    /// `~/.local/share/NAME`; on Apple platforms `Application Support/NAME`.
    ///
    /// - Parameter name: A single name, such as `org.example.notes`.
    /// - Returns: The directory, which is created with mode 0700 if it does not exist.
    /// - Throws: `.openFailed`, code `.cannotOpen` if it cannot be created, or others can write to
    ///   it; code `.misuse` for an invalid name.
    public static func directory(named name: String) throws -> URL {
        guard !name.isEmpty, !name.contains("/"), !name.hasPrefix("."), !name.utf8.contains(0)
        else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message: "\"\(name)\" is not a directory name")
        }
        return try make(
            StandardDirectories.applicationSupport.appendingPathComponent(
                name, isDirectory: true))
    }

    static func make(_ directory: URL) throws -> URL {
        func failure(_ reason: String) -> SecureStorageError {
            .openFailed(
                code: ResultCode.cannotOpen.rawValue,
                message: "cannot use \"\(directory.path)\": \(reason)")
        }
        do {
            try FileManager.default.createDirectory(
                at: directory, withIntermediateDirectories: true,
                attributes: [.posixPermissions: 0o700])
        } catch {
            throw failure("it cannot be created: \(error.localizedDescription)")
        }
        var status = stat()
        guard stat(directory.path, &status) == 0 else { throw failure(DatabaseFile.reason(errno)) }
        guard status.st_mode & S_IWOTH == 0 || status.st_mode & S_ISVTX != 0 else {
            throw failure("everyone can write to it; remove that permission (chmod o-w)")
        }
        return directory
    }
}
