public import Foundation

extension SecureDatabaseStore {
    /// Determines what the file at `url` is, and why.
    ///
    /// Reads every page once, and changes nothing, not even the access time where the system allows
    /// that. Decrypts only the first page, or up to eight where a raw key fits no HMAC. Sidecar
    /// files are examined too: the result describes what a connection opened now would find. A
    /// passphrase costs a key derivation, and two short ones more for a file that it does not open;
    /// a third one where `cipher` has another derivation than SQLCipher 4's.
    ///
    /// Page sizes, HMACs and the key derivations of SQLCipher's versions are detected. Another
    /// number of rounds is not: such a file is reported as `.wrongKey` unless `cipher` has it.
    ///
    /// - Parameters:
    ///   - url: The location of the file.
    ///   - key: The key; nil to see what can be determined without one.
    ///   - cipher: How the file is encrypted.
    ///   - progress: Called for every megabyte; see ``FileProgress``.
    /// - Returns: The finding with its reasons.
    /// - Throws: `.authenticationFailed` for a key that cannot be one (empty, wrong length);
    ///   `.openFailed` for a file that cannot be read; what `progress` throws.
    public static func diagnose(
        at url: URL, key: DatabaseKey? = nil, cipher: CipherConfiguration = .init(),
        progress: FileProgress.Handler = { _ in }
    ) throws -> FileDiagnosis {
        try cipher.validate()
        let key = try key.map { try EncryptionKey($0) }
        return try Diagnostician(path: url.path, key: key, cipher: cipher)
            .diagnose(progress)
    }
}
