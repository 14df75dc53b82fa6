internal import Foundation

/// Where databases go that were given a name only.
enum DefaultDirectory {
    /// The platform's application-support directory, and in it a folder of the running program.
    static var url: URL {
        applicationSupport.appendingPathComponent(programName, isDirectory: true)
    }

    private static var applicationSupport: URL {
        #if canImport(Darwin)
            let directories = FileManager.default.urls(
                for: .applicationSupportDirectory, in: .userDomainMask)
            if let directory = directories.first { return directory }
        #endif
        // XDG Base Directory Specification: a relative path is to be ignored.
        if let path = ProcessInfo.processInfo.environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return FileManager.default.homeDirectoryForUser
            .appendingPathComponent(".local/share", isDirectory: true)
    }

    private static var programName: String {
        #if canImport(Darwin)
            if let identifier = Bundle.main.bundleIdentifier { return identifier }
        #endif
        let name = ProcessInfo.processInfo.processName.replacingOccurrences(of: "/", with: "_")
        return name.isEmpty || name == "." || name == ".." ? "SecureStorage" : name
    }
}

extension FileManager {
    /// `homeDirectoryForCurrentUser` does not exist on iOS; `NSHomeDirectory` does everywhere.
    fileprivate var homeDirectoryForUser: URL {
        URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
    }
}
