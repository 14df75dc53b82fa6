public import Foundation

extension SharedDatabase {
    #if canImport(Darwin)
        /// The directory of an app group, in which its apps and extensions share files.
        ///
        /// - Parameters:
        ///   - identifier: The group's, as in the entitlement
        ///     `com.apple.security.application-groups`.
        ///   - name: A directory in it, which is made when it is missing.
        /// - Returns: The directory.
        /// - Throws: `.openFailed` code 14 when the app does not belong to the group, or the
        ///   directory cannot be made.
        ///
        /// The system's function is
        /// `FileManager.containerURL(forSecurityApplicationGroupIdentifier:)`.
        public static func directory(
            appGroup identifier: String, named name: String = "Database"
        ) throws -> URL {
            guard
                let container = FileManager.default.containerURL(
                    forSecurityApplicationGroupIdentifier: identifier)
            else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.cannotOpen.rawValue,
                    message:
                        "there is no container of the app group \(identifier): add the group to "
                        + "the entitlements of the app and of each extension")
            }
            return try make(container.appendingPathComponent(name, isDirectory: true))
        }
    #endif

    /// A directory that the programs of one user share: `$XDG_DATA_HOME/NAME`, or
    /// `~/.local/share/NAME`; on Apple platforms `Application Support/NAME`.
    ///
    /// - Parameter name: One name, such as `org.example.notes`.
    /// - Returns: The directory, which is made with mode 0700 when it is missing.
    /// - Throws: `.openFailed` code 14 when it cannot be made, or others may write it.
    public static func directory(named name: String) throws -> URL {
        guard !name.isEmpty, !name.contains("/"), !name.hasPrefix("."), !name.utf8.contains(0)
        else {
            throw SecureStorageError.openFailed(
                code: ResultCode.misuse.rawValue,
                message: "\"\(name)\" is no name of a directory")
        }
        #if canImport(Darwin)
            let parent = FileManager.default.urls(
                for: .applicationSupportDirectory, in: .userDomainMask)[0]
        #else
            let environment = ProcessInfo.processInfo.environment["XDG_DATA_HOME"]
            let parent =
                environment.flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0) : nil }
                ?? FileManager.default.homeDirectoryForCurrentUser
                .appendingPathComponent(".local/share", isDirectory: true)
        #endif
        return try make(parent.appendingPathComponent(name, isDirectory: true))
    }

    private static func make(_ directory: URL) throws -> URL {
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
            throw failure("it cannot be made: \(error.localizedDescription)")
        }
        var status = stat()
        guard stat(directory.path, &status) == 0 else { throw failure(DatabaseFile.reason(errno)) }
        guard status.st_mode & S_IWOTH == 0 || status.st_mode & S_ISVTX != 0 else {
            throw failure("everybody may write it; take that right away (chmod o-w)")
        }
        return directory
    }
}
