internal import CSQLCipher
internal import Foundation

extension Connection {
    /// Makes `collation` known to the statements of this connection, in place of one of its name.
    ///
    /// - Throws: `.backingStoreError` code 5 (SQLITE_BUSY) when it replaces one while a statement
    ///   runs.
    func install(_ collation: SQLCollation) throws {
        let handle = try requireHandle()
        let installed = Unmanaged.passRetained(InstalledCollation(collation, on: self))
        let code = sqlite3_create_collation_v2(
            handle, collation.name.text, SQLITE_UTF8, installed.toOpaque(),
            { collation, leftCount, left, rightCount, right in
                guard let collation else { return 0 }
                return Unmanaged<InstalledCollation>.fromOpaque(collation).takeUnretainedValue()
                    .compare(
                        UnsafeRawBufferPointer(start: left, count: Int(leftCount)),
                        UnsafeRawBufferPointer(start: right, count: Int(rightCount)))
            },
            { collation in
                if let collation { Unmanaged<InstalledCollation>.fromOpaque(collation).release() }
            })
        // Unlike that of a function, the destructor is not called when the call fails.
        if code != SQLITE_OK { installed.release() }
        try check(code)
    }

    func removeCollation(_ name: SQLName) throws {
        let handle = try requireHandle()
        try check(sqlite3_create_collation_v2(handle, name.text, SQLITE_UTF8, nil, nil, nil))
    }
}

/// A collation on one connection; SQLite owns it.
private final class InstalledCollation {
    private let collation: SQLCollation
    /// Unsafe, but SQLite calls collations of an open connection only.
    private unowned(unsafe) let connection: Connection

    init(_ collation: SQLCollation, on connection: Connection) {
        self.collation = collation
        self.connection = connection
    }

    func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int32 {
        guard let leftText = text(left), let rightText = text(right) else {
            return compareUnreadable(left, right)
        }
        let wasComparing = connection.callbacks.isComparing
        connection.callbacks.isComparing = true
        defer { connection.callbacks.isComparing = wasComparing }
        return Int32(collation.compare(leftText, rightText).rawValue)
    }

    private func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        bytes.withMemoryRebound(to: UInt8.self) { String(validatingUTF8: $0) }
    }

    /// A collation cannot fail, so what is not UTF-8 has a place too: by its bytes, behind all
    /// text.
    private func compareUnreadable(
        _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer
    ) -> Int32 {
        if text(left) != nil { return -1 }
        if text(right) != nil { return 1 }
        if left.lexicographicallyPrecedes(right) { return -1 }
        return right.lexicographicallyPrecedes(left) ? 1 : 0
    }
}
