package import Foundation

/// A plaintext that must not be found in files.
package enum Marker {
    /// One word in lower case, which a full-text index would store unchanged.
    package static let text = "markedplaintext7f3ac2"
    package static let blob = Data((0..<24).map { UInt8(truncatingIfNeeded: 0xd0 ^ ($0 &* 37)) })

    package static let patterns = [Data(text.utf8), blob]

    /// Returns the paths of the files below `directories` that contain one of `patterns`.
    package static func places(
        in directories: [String], patterns: [Data] = patterns
    ) throws -> [String] {
        var paths: [String] = []
        for directory in directories {
            let names = try FileManager.default.subpathsOfDirectory(atPath: directory)
            paths += names.map { "\(directory)/\($0)" }
        }
        return holding(patterns, paths)
    }

    #if os(Linux)
        /// Returns the files this process has open that contain one of `patterns`.
        ///
        /// Temporary files, for example, are usually unlinked as soon as they are open.
        ///
        /// For exit tests: it drops the locks of all SQLite connections of the process.
        package static func placesInOpenFiles(patterns: [Data] = patterns) throws -> [String] {
            let numbers = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
            let paths = numbers.map { "/proc/self/fd/\($0)" }
            return holding(
                patterns,
                paths.filter { path in
                    var status = stat()
                    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
                })
        }
    #endif

    private static func holding(_ patterns: [Data], _ paths: [String]) -> [String] {
        paths.filter { path in
            // A sidecar file may have been removed in the meantime.
            guard let file = FileManager.default.contents(atPath: path) else { return false }
            return patterns.contains { file.range(of: $0) != nil }
        }
    }
}
