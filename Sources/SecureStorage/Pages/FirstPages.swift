internal import Foundation

/// Every version of a file's first page that the next connection may find: the file's own, and the
/// one in its log or its journal.
struct FirstPages {
    private let cipher: CipherConfiguration
    private let pages: [[UInt8]]

    /// - Throws: When one of them cannot be read.
    fileprivate init(of file: DatabaseFile, _ cipher: CipherConfiguration) throws {
        self.cipher = cipher
        let view = try PageView(file.path, pageSize: cipher.pageSize)
        guard let current = try view.page(1),
            let own = try view.file.bytes(at: 0, count: cipher.pageSize)
        else { throw file.failure("it has no first page", .corrupt) }
        pages = [current, own]
    }

    /// Returns whether each was written with this key.
    func isWritten(with key: DerivedKey) throws -> Bool {
        let pageCipher = try PageCipher(key, cipher)
        return pages.allSatisfy { pageCipher.isAuthentic($0, number: 1) }
    }
}

extension DatabaseFile {
    /// Returns whether the file, which this key has opened before, is encrypted with another one
    /// now.
    ///
    /// A change of the key rewrites each page, so none is left under the old key, with the log or
    /// without it. A file that was overwritten with anything else has no other key.
    func isUnderAnotherKey(than key: DerivedKey, _ cipher: CipherConfiguration) throws -> Bool {
        let pageCipher = try PageCipher(key, cipher)
        // While another connection writes, pages may be on their way from the log to the file.
        for _ in 1...20 {
            let view = try PageView(path, pageSize: cipher.pageSize)
            guard let first = try view.page(1),
                Randomness.objection(to: Array(first[cipher.plaintextHeaderSize...])) == nil,
                try !PageScan(view: view, key: key, cipher: pageCipher).knowsKey(lookingAt: 256)
            else { return false }
            if try view.isCurrent() { break }
            usleep(5000)
        }
        return true
    }

    /// Reads the first page from the file and from its log or journal.
    func firstPages(_ cipher: CipherConfiguration) throws -> FirstPages {
        try FirstPages(of: self, cipher)
    }
}
