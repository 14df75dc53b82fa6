import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults
@testable import VaultsTests

/// Tests that no type of the module prints a secret.
struct PrintingTests {
    /// Types that hold nothing secret, or only functions; the cases of errors have their own tests.
    static let others: Set = [
        "SecureVaultError", "EnvelopeError",
        "KeyStoreError", "RowIdentity", "SystemIdleClock", "Origin", "DatabaseWriterType",
        "KeyForm", "KeychainKeyStore", "SecretServiceKeyStore", "KernelKeyringKeyStore",
        "SystemdCredentials", "Accessibility", "Presence", "EnclaveKey", "SealedStream",
        "VaultBackup", "VaultBackupError", "VaultIdentity",
        "VaultKeyNames", "VaultReplacement", "Step",
    ]

    @Test func `no public type prints a secret in any form`() throws {
        let secret = SecretBytes(utf8: "correct-horse-battery-staple-123")
        var samples: [String: Any] = try Self.envelope(secret)
        let folder = try VaultFolder.make()
        defer { folder.remove() }
        let file = try folder.store()
        let memory = InMemoryKeyStore()
        try memory.store(secret, forName: "k")
        try file.store(secret, forName: "k")
        samples["InMemoryKeyStore"] = memory
        samples["FileKeyStore"] = (
            file,
            try FileKeyStore(
                directory: folder.keys, sealedWith: DataEncryptionKey(name: "k", bytes: secret))
        )
        let value = ExpiringValue<Data>(expiresAfter: 60)
        value.value = secret.copied
        samples["ExpiringValue"] = value
        let factory = folder.factory(file, quick: true)
        let vault = try factory.makeVault(reporter: nil)
        try vault.levels.resetL2Password(oldPassword: nil, newPassword: secret)
        try vault.levels.authWith(password: secret)
        samples["SecureVaultFactory"] = factory
        samples["SecureStorageProviders"] = vault.providers
        samples["VaultDatabaseProvider"] = vault.providers.database
        samples["VaultCryptoProvider"] = VaultCryptoProvider(keyStore: memory)
        samples["VaultKeyStoreProvider"] = VaultKeyStoreProvider(keyStore: memory)
        samples["SecureVaultLevels"] = vault.levels
        try vault.levels.withL2 { samples["SecureVaultLevel"] = $0 }
        samples.merge(try Self.backup(of: vault, secret, in: folder)) { $1 }

        var secrets = [secret.copied]
        for name in ["l1-key", "l2-key"] {
            secrets.append(try file.read("SecureVault.\(name)").copied)
        }
        for (type, sample) in samples {
            var dumped = ""
            dump(sample, to: &dumped)
            let texts = [
                dumped, String(describing: sample), String(reflecting: sample),
                Self.mirrored(sample),
            ]
            for text in texts {
                for secret in secrets {
                    let bytes = Array(secret)
                    let forms = [
                        String(decoding: bytes.prefix(8), as: UTF8.self),
                        bytes.prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                            .joined(),
                        bytes.prefix(8).map { "\($0)" }.joined(separator: ", "),
                        String(secret.base64EncodedString().prefix(10)),
                    ]
                    for form in forms { check(!text.contains(form), "\(type)") }
                }
            }
        }
        let declared = try Self.declaredTypes()
        check(declared.count > 20)
        check(declared.subtracting(samples.keys).subtracting(Self.others), equals: [])
    }

    @Test func `the search finds a printed secret`() {
        struct Careless { let key = Data("correct-horse-battery-staple-123".utf8) }
        check(Self.mirrored(Careless()).contains("99, 111, 114, 114, 101, 99, 116, 45"))
    }

    private static func backup(
        of vault: NoteVault, _ secret: SecretBytes, in folder: VaultFolder
    ) throws -> [String: Any] {
        let url = folder.url.appendingPathComponent("backup")
        let data = try DataEncryptionKey(name: "data", bytes: secret)
        let source = try KeyEncryptionKey(name: "key", bytes: secret)
        let metadata = try VaultBackup.make(
            of: vault.providers.database.db, at: url, unlockedBy: [source], dataKeys: [.key(data)])
        let names = VaultKeyNames(database: "database", keyEncryption: "keys")
        return [
            "VaultBackupKey": VaultBackupKey.key(data), "VaultBackupMetadata": metadata,
            "VaultBackupLabel": metadata.label,
            "UnauthenticatedVaultBackupMetadata": try VaultBackup.metadata(at: url),
            "RestoredVault": try VaultBackup.restore(
                from: url, to: folder.url.appendingPathComponent("restored.db"),
                unlockedBy: source, keyStore: InMemoryKeyStore(), keyNames: names),
        ]
    }

    private static func envelope(_ secret: SecretBytes) throws -> [String: Any] {
        let data = try DataEncryptionKey(name: "data", bytes: secret)
        let key = try KeyEncryptionKey(name: "key", bytes: secret)
        let holder = KeyHolder(idleTime: .seconds(60))
        holder.hold(try DataEncryptionKey(name: "data", bytes: secret))
        var sealed = Data()
        let writer = try SealedStreamWriter(with: data) { sealed.append($0) }
        try writer.write(secret.copied)
        try writer.finish()
        var rest = sealed
        let reader = try SealedStreamReader(with: data) { count in
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        return [
            "DataEncryptionKey": data, "KeyEncryptionKey": key, "KeyHolder": holder,
            "PasswordKey": PasswordKey(secret), "RecoveryCode": RecoveryCode.random(),
            "WrappedKey": try WrappedKey(wrapping: data, with: key),
            "WrappedKeySet": try WrappedKeySet(wrapping: data, with: key),
            "ScryptParameters": ScryptParameters.default, "SealedStreamWriter": writer,
            "SealedStreamReader": reader,
        ]
    }

    /// Returns everything that mirrors reach, ten levels deep.
    private static func mirrored(_ value: Any, depth: Int = 0) -> String {
        guard depth < 10 else { return "" }
        let children = Mirror(reflecting: value).children.prefix(500)
        if let bytes = value as? Data { return bytes.map { "\($0)" }.joined(separator: ", ") }
        return children.reduce(into: "") { text, child in
            text += "\(child.label ?? ""): \(String(describing: child.value)) "
            text += mirrored(child.value, depth: depth + 1)
        }
    }

    /// Returns the names of the public types of keys and of vaults in levels.
    private static func declaredTypes() throws -> Set<String> {
        let sources = Checkout.file("Sources")
        var names: Set<String> = []
        for folder in [
            "SecureKeys/Envelope", "SecureKeys/KeyStores", "Vaults/Backup", "Vaults/SecureVault",
        ] {
            let directory = sources.appendingPathComponent(folder)
            for file in try FileManager.default.contentsOfDirectory(atPath: directory.path) {
                let text = try String(
                    contentsOf: directory.appendingPathComponent(file), encoding: .utf8)
                let pattern = #/(?:public|open) (?:final )?(?:class|struct|enum|actor) (\w+)/#
                for match in text.matches(of: pattern) { names.insert(String(match.1)) }
            }
        }
        return names.subtracting(["func"])
    }
}
