internal import Foundation

/// The default location of databases that are given only a name.
enum DefaultDirectory {
    /// The program's own folder in the platform's application-support directory.
    static var url: URL {
        applicationSupport.appendingPathComponent(programName, isDirectory: true)
    }

    private static var applicationSupport: URL {
        #if canImport(Darwin)
            let directories = FileManager.default.urls(
                for: .applicationSupportDirectory, in: .userDomainMask)
            if let directory = directories.first { return directory }
        #endif
        // XDG Base Directory Specification: relative paths must be ignored.
        if let path = ProcessInfo.processInfo.environment["XDG_DATA_HOME"], path.hasPrefix("/") {
            return URL(fileURLWithPath: path, isDirectory: true)
        }
        return home.appendingPathComponent(".local/share", isDirectory: true)
    }

    /// `$HOME`, which may differ from the home directory in the password file, which Foundation
    /// reads.
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
