#if canImport(Darwin)
    public import Foundation

    // File attributes that only Apple's file systems have. A sidecar file created later does not
    // inherit them from the file. For a directory that holds only databases, set them on the
    // directory with Foundation; files created in it then have them.

    extension SecureDatabaseStore {
        /// Sets whether backups exclude a database: the file and its existing sidecar files.
        ///
        /// - Parameters:
        ///   - isExcluded: Whether to exclude them.
        ///   - url: A file URL.
        /// - Throws: `.backingStoreError` code `.cannotOpen` when the file does not exist; any
        ///   error from Foundation.
        ///
        /// The resource value is
        /// [`isExcludedFromBackup`](https://developer.apple.com/documentation/foundation/urlresourcevalues/isexcludedfrombackup).
        public static func setExcludedFromBackup(_ isExcluded: Bool, at url: URL) throws {
            var values = URLResourceValues()
            values.isExcludedFromBackup = isExcluded
            for var file in try files(at: url) { try file.setResourceValues(values) }
        }

        /// Sets when the system allows a database to be read, that is, the file and its existing
        /// sidecar files.
        ///
        /// Takes effect where the system encrypts files by protection class, as iOS does. A class
        /// that locks the file with the screen makes a store fail with code `.ioError` in
        /// the background.
        ///
        /// - Parameters:
        ///   - protection: The protection class.
        ///   - url: A file URL.
        /// - Throws: `.backingStoreError` code `.cannotOpen` when the file does not exist; any
        ///   error from Foundation.
        ///
        /// The attribute is
        /// [`protectionKey`](https://developer.apple.com/documentation/foundation/fileattributekey/protectionkey).
        public static func setProtection(_ protection: FileProtectionType, at url: URL) throws {
            for file in try files(at: url) {
                try FileManager.default.setAttributes(
                    [.protectionKey: protection], ofItemAtPath: file.path)
            }
        }

        private static func files(at url: URL) throws -> [URL] {
            _ = try sizeOnDisk(at: url)
            return ([""] + DatabaseFile.sideFileSuffixes + [SaltFile.suffix])
                .map { URL(fileURLWithPath: url.path + $0) }
                .filter { FileManager.default.fileExists(atPath: $0.path) }
        }
    }
#endif
