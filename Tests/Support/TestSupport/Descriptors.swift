import Foundation

/// The file descriptors of this process, an exit test's: counts them and limits them.
package enum Descriptors {
    /// The files and directories that are open.
    package static var paths: [String] { (0..<4096).compactMap(path) }

    /// Counts those of files below `directory`: other descriptors may be the test runner's, and
    /// change at any time.
    package static func count(below directory: String) -> Int {
        paths.count { $0.hasPrefix(directory + "/") }
    }

    /// Counts those of one file.
    package static func count(of file: String) -> Int { paths.count { $0 == file } }

    private static func path(of descriptor: Int32) -> String? {
        #if canImport(Darwin)
            var path = [CChar](repeating: 0, count: Int(MAXPATHLEN))
            return fcntl(descriptor, F_GETPATH, &path) == -1 ? nil : String(cString: path)
        #else
            return try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/self/fd/\(descriptor)")
        #endif
    }

    /// Runs `body` while only `free` more descriptors can be opened.
    package static func withOnly<R>(_ free: Int, _ body: () throws -> R) rethrows -> R {
        var limits = rlimit()
        #if canImport(Darwin)
            let resource = RLIMIT_NOFILE
        #else
            let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        #endif
        getrlimit(resource, &limits)
        let usual = limits.rlim_cur
        limits.rlim_cur = 128
        setrlimit(resource, &limits)
        var taken: [Int32] = []
        while case let descriptor = open("/dev/null", O_RDONLY), descriptor >= 0 {
            taken.append(descriptor)
        }
        for descriptor in taken.suffix(free) { close(descriptor) }
        defer {
            for descriptor in taken.dropLast(free) { close(descriptor) }
            limits.rlim_cur = usual
            setrlimit(resource, &limits)
        }
        return try body()
    }
}
