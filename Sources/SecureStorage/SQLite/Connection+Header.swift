internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Returns the first bytes of the file: 16 are the salt, or the beginning of a plain SQLite
    /// database.
    ///
    /// They are read through SQLite's own descriptor: closing a separate one would drop the locks
    /// that other connections of this process hold on the file.
    func readFirstBytes(_ count: Int = CipherConfiguration.saltLength) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        try withFile { file, methods in
            let code = methods.xRead(file, &bytes, Int32(bytes.count), 0)
            // A shorter file reads as zeros, which the proof of the key refuses. The extended code
            // is a macro that Swift does not import.
            let shortRead = SQLITE_IOERR | 2 << 8
            if code != shortRead { try check(code) }
        }
        return bytes
    }

    private func withFile<R>(
        _ body: (UnsafeMutablePointer<sqlite3_file>, sqlite3_io_methods) throws -> R
    ) throws -> R {
        var file: UnsafeMutablePointer<sqlite3_file>?
        try check(sqlite3_file_control(requireHandle(), "main", SQLITE_FCNTL_FILE_POINTER, &file))
        guard let file, let methods = file.pointee.pMethods else {
            throw SecureStorageError.statementFailed(.cannotOpen, "the file is not open")
        }
        return try body(file, methods.pointee)
    }
}
