/// Where in a statement SQLite has found an error, with the text around it.
package struct SQLErrorPlace: Equatable, Sendable {
    /// The line of the statement, from 1.
    package let line: Int
    /// The text of that line before and from the place on; long ones are cut, with `…`.
    package let before: String
    package let after: String
    private static let longest = 36

    /// nil where the statement may not be shown.
    init?(in sql: String, at offset: Int) {
        guard offset >= 0, offset <= sql.utf8.count, !SQLText.holdsKey(sql),
            SQLText.redacted(sql) == sql
        else { return nil }
        let bytes = Array(sql.utf8)
        let feed = UInt8(ascii: "\n")
        let start = bytes[..<offset].lastIndex(of: feed).map { $0 + 1 } ?? 0
        let end = bytes[offset...].firstIndex(of: feed) ?? bytes.count
        line = bytes[..<offset].count { $0 == feed } + 1
        let before = String(decoding: bytes[start..<offset], as: UTF8.self)
        let after = String(decoding: bytes[offset..<end], as: UTF8.self)
        self.before =
            before.count > Self.longest ? "…" + before.suffix(Self.longest) : before
        self.after = after.count > Self.longest ? after.prefix(Self.longest) + "…" : after
    }
}
