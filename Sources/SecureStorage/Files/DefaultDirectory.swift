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
        return home.appendingPathComponent(".local/share", isDirectory: true)
    }

    /// `$HOME`, which may differ from the user's entry in the password file that Foundation reads.
    private static var home: URL {
        let given = ProcessInfo.processInfo.environment["HOME"].flatMap {
            $0.hasPrefix("/") ? $0 : nil
        }
        return URL(fileURLWithPath: given ?? NSHomeDirectory(), isDirectory: true)
    }

    private static var programName: String {
        #if canImport(Darwin)
            if let identifier = Bundle.main.bundleIdentifier { return identifier }
        #endif
        let name = ProcessInfo.processInfo.processName.replacingOccurrences(of: "/", with: "_")
        return name.isEmpty || name == "." || name == ".." ? "SecureStorage" : name
    }
}
