internal import CSQLCipher

extension SQLText {
    /// Refuses a VACUUM INTO that is the first statement of `text`, up to its NUL.
    ///
    /// SQLite creates its file with the mode 0644, unchecked and under its final name, and
    /// SQLCipher (4.6.1) with the default page size, HMAC and header, so that nothing opens it
    /// where the configuration differs. The authorizer sees it as an ATTACH, while it runs.
    ///
    /// - Throws: `.backingStoreError` code `.notAuthorized`.
    static func refuseVacuumInto(_ text: UnsafePointer<CChar>) throws {
        guard isVacuumInto(text) else { return }
        throw SecureStorageError.statementFailed(
            .notAuthorized,
            "VACUUM INTO is refused: others could read its file, and it may be one that nothing opens; use "
                + "vacuum(into:) or backup(to:)")
    }

    static func isVacuumInto(_ text: UnsafePointer<CChar>) -> Bool {
        func word(_ token: SQLTokens.Token?) -> String? {
            guard let token, token.kind == .word else { return nil }
            let bytes = UnsafeRawBufferPointer(
                start: text + token.range.lowerBound, count: min(token.range.count, 8))
            return String(decoding: bytes, as: UTF8.self).uppercased()
        }
        var tokens = SQLTokens(cString: text).lazy.filter { !$0.isIgnored }
            .drop { $0.isByte(";") }.makeIterator()
        guard word(tokens.next()) == "VACUUM" else { return false }
        // The name of a schema may come first.
        return word(tokens.next()) == "INTO" || word(tokens.next()) == "INTO"
    }
}
