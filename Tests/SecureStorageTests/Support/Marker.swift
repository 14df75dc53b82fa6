import Foundation

/// A text that must not be found where files are.
enum Marker {
    /// One word, in lower case, so that a full-text index would hold it as it is.
    static let text = "markedplaintext7f3ac2"
    static let blob = Data((0..<24).map { UInt8(truncatingIfNeeded: 0xd0 ^ ($0 &* 37)) })

    static let patterns = [Data(text.utf8), blob]

    /// The names of the files below `directories` that hold one of `patterns`.
    static func places(
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
        /// Those of the files that this process has open, which hold one of `patterns`: a temporary
        /// file is usually removed as soon as it is open.
        ///
        /// For exit tests. It drops the locks of all SQLite connections of the process.
        static func placesInOpenFiles(patterns: [Data] = patterns) throws -> [String] {
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
            // A side file may go meanwhile.
            guard let file = FileManager.default.contents(atPath: path) else { return false }
            return patterns.contains { file.range(of: $0) != nil }
        }
    }
}
