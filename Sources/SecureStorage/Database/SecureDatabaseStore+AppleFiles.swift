#if canImport(Darwin)
    public import Foundation

    // What only Apple's file systems know. A side file that is made later does not have it: for a
    // directory that holds nothing but databases, set it there with Foundation, and the files below
    // have it.

    extension SecureDatabaseStore {
        /// Says whether backups leave out a database: the file and those beside it that are there
        /// now.
        ///
        /// - Parameters:
        ///   - isExcluded: Whether they do.
        ///   - url: A file URL.
        /// - Throws: `.backingStoreError` code 14 when there is no such file; Foundation's error.
        ///
        /// The resource value is
        /// [`isExcludedFromBackup`](https://developer.apple.com/documentation/foundation/urlresourcevalues/isexcludedfrombackup).
        public static func setExcludedFromBackup(_ isExcluded: Bool, at url: URL) throws {
            var values = URLResourceValues()
            values.isExcludedFromBackup = isExcluded
            for var file in try files(at: url) { try file.setResourceValues(values) }
        }

        /// Says when the system lets a database be read: the file and those beside it that are
        /// there now.
        ///
        /// Has an effect where the system encrypts files by class, as iOS does. A class that locks
        /// the file with the screen makes a store fail with code 10 (SQLITE_IOERR) in the
        /// background.
        ///
        /// - Parameters:
        ///   - protection: The class.
        ///   - url: A file URL.
        /// - Throws: `.backingStoreError` code 14 when there is no such file; Foundation's error.
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
