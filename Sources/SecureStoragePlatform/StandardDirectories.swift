package import Foundation

/// Where programs keep their files.
package enum StandardDirectories {
    /// The directory for the data of the user's programs: `$XDG_DATA_HOME`, or `~/.local/share`; on
    /// Apple platforms `Application Support`.
    ///
    /// Defined by the
    /// [XDG Base Directory Specification](https://specifications.freedesktop.org/basedir-spec/).
    package static var applicationSupport: URL {
        #if canImport(Darwin)
            let directories = FileManager.default.urls(
                for: .applicationSupportDirectory, in: .userDomainMask)
            if let directory = directories.first { return directory }
        #endif
        return absolute("XDG_DATA_HOME") ?? home.appendingPathComponent(".local/share")
    }

    /// Returns the directory that an app group shares; nil if the program does not belong to the
    /// group, and on platforms without app groups.
    package static func container(ofAppGroup identifier: String) -> URL? {
        #if canImport(Darwin)
            FileManager.default.containerURL(forSecurityApplicationGroupIdentifier: identifier)
        #else
            nil
        #endif
    }

    /// The name of the program's own directory: its bundle identifier, or the name of its file.
    package static var programName: String {
        let name = Bundle.main.bundleIdentifier ?? ProcessInfo.processInfo.processName
        return name.replacingOccurrences(of: "/", with: "_")
    }

    /// `$HOME`, which may differ from the home directory in the password file, which Foundation
    /// reads.
    private static var home: URL {
        absolute("HOME") ?? URL(fileURLWithPath: NSHomeDirectory(), isDirectory: true)
    }

    /// Returns the directory in an environment variable; relative paths must be ignored.
    private static func absolute(_ variable: String) -> URL? {
        guard let path = ProcessInfo.processInfo.environment[variable], path.hasPrefix("/") else {
            return nil
        }
        return URL(fileURLWithPath: path, isDirectory: true)
    }
}
