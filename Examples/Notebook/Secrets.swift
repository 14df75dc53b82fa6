import Foundation
import SecureStorage
import Vaults

/// A few values beside the notes, behind a password of their own.
final class Secrets {
    private static let id = "secrets"
    private let directory: URL
    /// Made when it is needed first, and its folder with it.
    private lazy var container = Result { try DataVaultContainer(directory: directory) }
    /// The unlocked vault: it is locked when nothing refers to it any longer.
    private var vault: DataVault?

    /// - Parameter file: The notebook's file, beside which the vault gets a folder.
    init(beside file: URL) { directory = URL(fileURLWithPath: file.path + "-vault") }

    func exist() throws -> Bool { try container.get().exists(id: Self.id) }

    /// Whether the password is needed: also some time after the last use.
    var areLocked: Bool { vault?.isLocked ?? true }

    func create(password: SecretBytes) throws {
        var policy = DataVaultPasswordPolicy()
        policy.defaultPasswordAllowed = false
        policy.retryLimit = 3
        policy.lockTimeout = 60
        vault = try container.get().create(
            id: Self.id, password: password, policy: policy)
    }

    func unlock(password: SecretBytes) throws {
        let vault = try container.get().vault(id: Self.id)
        try vault.unlock(password: password)
        self.vault = vault
    }

    func lock() {
        vault?.lock()
        vault = nil
    }

    func set(_ name: String, _ value: SecretBytes) throws {
        try unlocked().setSecret(name, value: value)
    }

    func value(_ name: String) throws -> SecretBytes? { try unlocked().getSecret(name) }

    func names() throws -> [String] { try unlocked().dataNames.map(\.name).sorted() }

    private func unlocked() throws -> DataVault {
        guard let vault else { throw DataVaultError.locked }
        return vault
    }
}
