package import Foundation
internal import SecureStoragePlatform

/// A database that is put together from its pages, under another name until it is complete.
///
/// Not thread-safe; the methods block.
package final class PageFile: @unchecked Sendable {
    // @unchecked: used by one caller at a time.
    private let url: URL
    private let replacing: Bool
    private let configuration: SecureDatabaseConfiguration
    private let pages: FileHandle
    private let path: String

    /// Creates an empty file beside `url`.
    ///
    /// - Parameters:
    ///   - url: The name that the file will get.
    ///   - replacing: Whether a file of that name is replaced.
    ///   - configuration: The cipher settings.
    /// - Throws: `.openFailed` if the file cannot get that name.
    package init(
        beside url: URL, replacing: Bool, _ configuration: SecureDatabaseConfiguration
    ) throws {
        let target = try NewFile(at: url, replacing: replacing).target
        self.url = url
        self.replacing = replacing
        self.configuration = configuration
        path = target.path + ".restoring-\(UUID().uuidString.lowercased())"
        do {
            let file = try Descriptor(creating: path)
            pages = FileHandle(fileDescriptor: dup(file.number), closeOnDealloc: true)
        } catch let error as SystemError {
            throw target.failure("it cannot be created: \(error.reason)")
        }
    }

    /// Writes one page.
    ///
    /// - Parameters:
    ///   - bytes: Exactly a page.
    ///   - number: Its number, from 1.
    /// - Throws: Foundation's error if the disk fails or is full.
    package func write(_ bytes: Data, page number: UInt32) throws {
        try pages.seek(toOffset: UInt64(number - 1) * UInt64(configuration.cipher.pageSize))
        try pages.write(contentsOf: bytes)
    }

    /// Ends the file after this number of pages.
    package func truncate(pages count: Int) throws {
        try pages.truncate(atOffset: UInt64(count) * UInt64(configuration.cipher.pageSize))
    }

    /// Checks the whole file with its key, and gives it its name.
    ///
    /// - Throws: `.openFailed` for a wrong key and for damage; the file is still there then.
    package func publish(key: DatabaseKey) throws {
        try pages.synchronize()
        let (path, configuration) = (path, configuration)
        try NewFile(at: url, replacing: replacing).make(timeout: configuration.busyTimeout) {
            draft in
            guard rename(path, draft.path) == 0 else {
                throw draft.failure("it cannot be renamed: \(DatabaseFile.reason(errno))")
            }
            var settings = configuration
            settings.keepsJournalMode = false
            settings.keepsWriteAheadLog = false
            let db = SecureDatabaseStore(fullDatabasePath: draft.path, configuration: settings)
            try db.open(with: key)
            defer { db.close() }
            let report = try db.verifyIntegrity()
            guard report.isSound else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.corrupt.rawValue, message: "\(report)")
            }
        }
    }

    /// Removes the file, unless it has its name.
    package func discard() { unlink(path) }
}
