internal import Foundation
internal import SecureStoragePlatform

/// The default location of databases that are given only a name.
enum DefaultDirectory {
    /// The program's own folder in the platform's application-support directory.
    static var url: URL {
        let name = StandardDirectories.programName
        let isName = !name.isEmpty && name != "." && name != ".."
        return StandardDirectories.applicationSupport
            .appendingPathComponent(isName ? name : "SecureStorage", isDirectory: true)
    }
}
