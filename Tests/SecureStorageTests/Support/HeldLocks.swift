import Foundation

#if os(Linux)
    /// The locks of this process, as the kernel reports them.
    enum HeldLocks {
        /// Returns the suffixes of those files, of the database and its sidecar files, on which
        /// this process holds a lock.
        static func onFiles(of path: String) -> [String] {
            let own = list().split(separator: "\n").map { $0.split(separator: " ") }
                .filter { $0.contains(Substring("\(getpid())")) }
            return ["", "-wal", "-shm", "-journal", "-salt"].filter { suffix in
                var status = stat()
                guard lstat(path + suffix, &status) == 0 else { return false }
                return own.contains { $0.contains { $0.hasSuffix(":\(status.st_ino)") } }
            }
        }

        // Not with Foundation, which reads only part of a file that reports no size.
        private static func list() -> String {
            let descriptor = open("/proc/locks", O_RDONLY)
            guard descriptor >= 0 else { return "" }
            defer { close(descriptor) }
            var text: [UInt8] = []
            var part = [UInt8](repeating: 0, count: 1 << 16)
            while case let count = read(descriptor, &part, part.count), count > 0 {
                text += part[..<count]
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
#endif
