import Foundation
import SecureStorage
import Vaults

/// Reads everything that `Vaults` reads: wrapped keys and their sets, sealed values and streams,
/// recovery codes, key files, backups.
///
/// Each input is read as it is, and with correct checksums, as an attacker would make them.
struct RecordsTarget: FuzzTarget {
    private let device: KeyEncryptionKey
    private let data: DataEncryptionKey
    private let backup: URL
    private let keyFolder: URL
    private let keys: FileKeyStore
    private let keyFile: URL
    private let vaultKeys = InMemoryKeyStore()

    static let keyFileName = "device"

    init() throws {
        device = try Self.device()
        data = try Self.data()
        let folder = try Scratch.folder("records")
        backup = folder.appendingPathComponent("backup")
        keyFolder = folder.appendingPathComponent("keys")
        keys = try FileKeyStore(directory: keyFolder)
        keyFile = try Self.keyFile(in: keys, at: keyFolder)
    }

    // Fixed, so that the corpus remains useful.
    static func device() throws -> KeyEncryptionKey {
        try KeyEncryptionKey(
            name: "device", bytes: SecretBytes(copying: [UInt8](repeating: 1, count: 32)))
    }

    static func data() throws -> DataEncryptionKey {
        try DataEncryptionKey(
            name: "data", bytes: SecretBytes(copying: [UInt8](repeating: 2, count: 32)))
    }

    static func code() throws -> RecoveryCode {
        try RecoveryCode("0123456-789ABCD-EFGHJKH")
    }

    /// Returns the file that a key store has for the name that is read below.
    static func keyFile(in keys: FileKeyStore, at folder: URL) throws -> URL {
        try keys.store(SecretBytes(utf8: "secret"), forName: keyFileName)
        let files = try FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: nil)
        guard let file = files.first(where: { $0.pathExtension == "key" }) else {
            throw KeyStoreError.notFound(name: keyFileName)
        }
        return file
    }

    func run(_ input: Data) throws {
        try read(input)
        let repaired = Checksums.repaired(input)
        if repaired != input { try read((Data([0]) + repaired).dropFirst()) }
    }

    private func read(_ input: Data) throws {
        try readWrappedKey(input)
        try readWrappedKeySet(input)
        try readSealedValue(input)
        try readStream(input)
        try readRecoveryCode(input)
        if input.starts(with: Data("SSVP".utf8)) { try readPasswordDerivation(input) }
        if input.starts(with: Data("SSKEY".utf8)) { try readKeyFile(input) }
        if input.starts(with: Data("SSVB".utf8)) { try readBackup(input) }
    }

    private func readWrappedKey(_ input: Data) throws {
        guard let record = try allowing(EnvelopeError.self, { try WrappedKey(bytes: input) }) else {
            return
        }
        precondition(record.bytes == input, "a record has two spellings")
        _ = (record.needsUpgrade, "\(record)")
        // Deriving a key from a password takes too long.
        guard !record.isOfPassword else { return }
        _ = try allowing(EnvelopeError.self) { try record.unwrap(with: device) }
        _ = try allowing(EnvelopeError.self) { try record.unwrap(with: Self.code()) }
    }

    private func readWrappedKeySet(_ input: Data) throws {
        guard var set = try allowing(EnvelopeError.self, { try WrappedKeySet(bytes: input) }) else {
            return
        }
        precondition(set.bytes == input, "a set has two spellings")
        guard !set.records.contains(where: \.isOfPassword) else { return }
        let key = try allowing(EnvelopeError.self) { try set.unwrap(with: device) }
        _ = try allowing(EnvelopeError.self) { try set.unwrap(with: Self.code()) }
        guard let key else { return }
        _ = try allowing(EnvelopeError.self) {
            try set.add(KeyEncryptionKey.random(name: "other"), for: key)
            try set.remove(name: "device")
        }
        let changed = try WrappedKeySet(bytes: set.bytes)
        precondition(changed == set, "a changed set is read otherwise")
    }

    private func readSealedValue(_ input: Data) throws {
        _ = try allowing(EnvelopeError.self) {
            try data.open(input, table: "table", column: "column", row: 1)
        }
        _ = try allowing(EnvelopeError.self) {
            try data.openSecret(input, table: "table", column: "column", row: "row")
        }
    }

    private func readStream(_ input: Data) throws {
        _ = try allowing(EnvelopeError.self) {
            var rest = input
            let reader = try SealedStreamReader(with: data) { count in
                // In pieces, as from a pipe.
                let part = rest.prefix(min(count, 1000))
                rest = rest.dropFirst(part.count)
                return part
            }
            while try reader.read() != nil {}
        }
    }

    private func readRecoveryCode(_ input: Data) throws {
        let typed = SecretBytes(copying: input)
        guard let code = try allowing(EnvelopeError.self, { try RecoveryCode(typed) }) else {
            return
        }
        let again = try RecoveryCode(code.formatted)
        precondition(again.formatted == code.formatted, "a code is read otherwise")
    }

    private func readPasswordDerivation(_ input: Data) throws {
        let name = "password-derivation"
        let keys = VaultKeyStoreProvider(keyStore: vaultKeys)
        try keys.writeData(input, named: name, serviceName: keys.keychainServiceName)
        _ = VaultCryptoProvider(keystore: keys).passwordSalt
    }

    private func readKeyFile(_ input: Data) throws {
        // Overwritten, so that it keeps its mode.
        let file = try FileHandle(forWritingTo: keyFile)
        try file.truncate(atOffset: 0)
        try file.write(contentsOf: input)
        try file.close()
        let secret = try allowing(KeyStoreError.self) { try keys.read(Self.keyFileName) }
        let names = try allowing(KeyStoreError.self) { try keys.names() }
        precondition(secret == nil || names == [Self.keyFileName], "a secret has another name")
    }

    private func readBackup(_ input: Data) throws {
        try input.write(to: backup)
        let metadata = try allowing(VaultBackupError.self) {
            try VaultBackup.metadata(at: backup)
        }
        guard let metadata, !metadata.keyRecords.contains(where: \.isOfPassword) else { return }
        let verified = try allowing(VaultBackupError.self) {
            try VaultBackup.verify(at: backup, unlockedBy: device)
        }
        precondition(verified.map { $0 == metadata.claimed } ?? true, "two answers on one backup")
    }
}

extension WrappedKey {
    fileprivate var isOfPassword: Bool {
        if case .password = origin { true } else { false }
    }
}
