import Foundation
import SecureStorage
import TestSupport
import Testing
import Vaults
@testable import VaultsTests

/// The snippets of `Docs/DataVault.md`, compiled and run; `DocumentationTests` compares the text.
struct DataVaultSnippets {
    let home: VaultHome
    let container: DataVaultContainer

    init() throws {
        home = try VaultHome()
        container = try home.container()
    }

    #if os(Linux)
        @Test func `a vault from the class methods`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                setenv("XDG_DATA_HOME", path, 1)
                try Self.useTheClass()
            }
        }
    #endif

    @Test func `a backup and its restore`() throws {
        let (typed, newPassword) = ("correct horse 1", "battery staple 2")
        let vault = try container.create(id: "org.example.notes.main", password: typed)
        try vault.setString("user", value: "ada")
        let backupURL = home.url.appendingPathComponent("notes.backup")
        func show(_ code: String) { check(code.utf8.count, equals: 23) }
        // begin
        let code = RecoveryCode.random()
        show(code.formattedText)
        try vault.makeBackup(at: backupURL, unlockedBy: [code])
        // end
        try container.delete(id: "org.example.notes.main")
        // begin
        let restored = try container.restore(
            from: backupURL, id: "org.example.notes.main", unlockedBy: code,
            password: newPassword)
        // end
        try check(restored.getString("user"), equals: "ada")
    }

    private static func useTheClass() throws {
        let typed = SecretBytes(utf8: "correct horse 1")
        // begin
        var policy = DataVaultPasswordPolicy()
        policy.hasDigits = true
        policy.retryLimit = 10
        policy.lockTimeout = 300  // seconds

        let vault = try DataVault.create(
            id: "org.example.notes.main", password: typed, policy: policy)
        try vault.setString("user", value: "ada")
        try vault.setValue("token", value: Data([1, 2, 3]))
        vault.lock()
        // end
        // begin
        let sameVault = try DataVault.vault(id: "org.example.notes.main")
        do {
            try sameVault.unlock(password: typed)
            print(try sameVault.getString("user") ?? "nobody")
        } catch let error as DataVaultError where error.isSelfDestructed {
            print("start over")  // the vault is gone
        } catch DataVaultError.invalidPassword(let triesLeft) {
            print("wrong, \(triesLeft ?? .max) tries left")
        } catch let error as DataVaultError where error.isPolicyViolation {
            print("choose another password: \(error)")  // changePassword(_:newPassword:)
        }
        // end
        try require(sameVault === vault)
        try require(!vault.isLocked)
        let newPassword = "4n0ther_pass"
        // begin
        try vault.changePassword(newPassword)
        try vault.rekey(password: newPassword)
        // end
        // begin
        for id in try DataVault.idsOfEarlierInstallation() {
            try DataVault.delete(id: id)
        }
        // end
        try require(DataVault.ids() == ["org.example.notes.main"])
    }

    @Test func `a database that depends on a vault is destroyed with it`() throws {
        let databaseURL = home.url.appendingPathComponent("orders.db")
        // begin
        container.onDestruction = { _ in
            _ = try SecureDatabaseStore.remove(at: databaseURL)
        }
        // end
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        // begin
        let key = SecretBytes.random(count: 32)
        try vault.setSecret("orders.db", value: key)
        let db = SecureDatabaseStore(url: databaseURL)
        try db.open(with: .raw(key))
        // end
        db.close()
        check(SecureDatabaseStore.exists(at: databaseURL))
        try container.delete(id: "a")
        check(!SecureDatabaseStore.exists(at: databaseURL))
    }

    @Test func `a session shows what the user should see`() async throws {
        let typed = SecretBytes(utf8: "P4sSw0rD1")
        _ = try await container.create(id: "org.example.notes.main", password: typed)
        let screen = Screen()
        // begin
        let session = DataVaultSession(id: "org.example.notes.main", in: container)
        let screens = Task {
            for await state in session.states {
                switch state {
                case .noVault, .destroyed: await screen.show("welcome")
                case .locked(let triesLeft): await screen.show("password", triesLeft: triesLeft)
                case .unlocked: await screen.show("notes")
                case .passwordViolates, .passwordExpired: await screen.show("another password")
                case .failed(let error): await screen.show("later: \(error)")
                }
            }
        }
        // end
        while await screen.shown != ["password"] { try await Task.sleep(for: .milliseconds(1)) }
        // begin
        try await session.unlock(password: typed)
        let user = try session.withVault { try $0.getString("user") }
        session.appDidEnterBackground()  // locked, whatever is in progress
        // end
        check(user == nil)
        check(session.state, equals: .locked(triesLeft: nil))
        screens.cancel()
        await screens.value
    }
}

private actor Screen {
    var shown: [String] = []

    func show(_ name: String, triesLeft: Int? = nil) { shown.append(name) }
}
