import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// The app's handler: when it is called, when it is called again, and which calls wait for it.
@Suite(.timeLimit(.minutes(10)))
struct DataVaultDestructionTests {
    let home: VaultHome
    let container: DataVaultContainer
    let gate = Gate()

    init() throws {
        home = try VaultHome()
        container = try home.container()
    }

    private func destroyed() throws -> DataVault {
        var policy = DataVaultPasswordPolicy()
        policy.retryLimit = 1
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        vault.lock()
        let error = dataVaultError { try vault.unlock(password: "wrong password") }
        #expect(error?.isSelfDestructed == true)
        return vault
    }

    @Test func `the reason a vault is gone is reported until the id is used again`() throws {
        let vault = try destroyed()
        for _ in 1...2 {
            #expect(dataVaultError { _ = try vault.getString("name") }?.isSelfDestructed == true)
            let again = dataVaultError { _ = try home.container().vault(id: "a") }
            #expect(again?.isSelfDestructed == true)
            #expect(try container.ids() == [])
            let exists = try container.exists(id: "a")
            #expect(!exists)
        }
        #expect(try home.databases() == [])
        let existed = try container.delete(id: "a")
        #expect(!existed)
        #expect(dataVaultError { _ = try container.vault(id: "a") }?.isSelfDestructed == false)
        _ = try destroyed()
        let new = try container.create(id: "a", password: "P4sSw0rD2")
        #expect(try new.dataNames == [])
    }

    @Test func `a handler set later is called once, and not by a query`() throws {
        _ = try destroyed()
        nonisolated(unsafe) var received: [DataVaultDestruction] = []
        container.onDestruction = { received.append($0) }
        _ = try container.exists(id: "a")
        _ = try container.ids()
        #expect(received == [])
        for _ in 1...2 {
            #expect(vaultCode { _ = try container.vault(id: "a") } == 3)
            #expect(received == [DataVaultDestruction(id: "a", isSelfDestructed: true)])
        }
        try container.delete(id: "a")
        #expect(received.count == 1)
    }

    @Test func `a handler that throws is called again until it succeeds`() throws {
        nonisolated(unsafe) var calls = 0
        container.onDestruction = { _ in
            calls += 1
            if calls < 4 { throw CocoaError(.fileNoSuchFile) }
        }
        _ = try container.create(id: "a", password: "P4sSw0rD1")
        #expect(vaultCode { try container.delete(id: "a") } == 0)
        #expect(dataVaultError { _ = try container.vault(id: "a") }?.cause is CocoaError)
        // Nor is a new vault created while the handler has not succeeded for the old one.
        #expect(vaultCode { _ = try container.create(id: "a", password: "") } == 0)
        #expect(calls == 3)
        _ = try container.create(id: "a", password: "")
        #expect(calls == 4)
    }

    @Test func `a vault with the same id is not created while the handler runs`() throws {
        _ = try container.create(id: "a", password: "P4sSw0rD1")
        container.onDestruction = { [gate] _ in gate.pass() }
        gate.close()
        let deletion = Answer { [container] in try container.delete(id: "a") }
        while !gate.isSomebodyWaiting { usleep(1000) }
        // Other calls get the error without waiting.
        #expect(vaultCode { _ = try container.vault(id: "a") } == 3)
        nonisolated(unsafe) var isMade = false
        let creation = Answer { [home] in
            _ = try home.container().create(id: "a", password: "P4sSw0rD2")
            isMade = true
        }
        usleep(200_000)
        #expect(!isMade)
        gate.open()
        #expect(deletion.code == nil)
        #expect(creation.code == nil)
        try container.vault(id: "a").unlock(password: "P4sSw0rD2")
    }

    @Test func `another process does not create a vault with the same id while the handler runs`()
        async throws
    {
        _ = try await container.create(id: "a", password: "P4sSw0rD1")
        container.onDestruction = { [gate] _ in gate.pass() }
        gate.close()
        let deletion = Answer { [container] in try container.delete(id: "a") }
        while !gate.isSomebodyWaiting { try await Task.sleep(for: .milliseconds(1)) }
        let (started, made) = (home.path + "/started", home.path + "/made")
        async let child: Void = Self.createInAnotherProcess(home.path)
        while access(started, F_OK) != 0 { try await Task.sleep(for: .milliseconds(1)) }
        try await Task.sleep(for: .milliseconds(300))
        #expect(access(made, F_OK) != 0)
        gate.open()
        await child
        #expect(access(made, F_OK) == 0)
        #expect(deletion.code == nil)
    }

    private static func createInAnotherProcess(_ path: String) async {
        await #expect(processExitsWith: .success) { [path = path as String] in
            let container = try VaultHome(path: path).container()
            try Data().write(to: URL(fileURLWithPath: path + "/started"))
            _ = try container.create(id: "a", password: "P4sSw0rD2")
            try Data().write(to: URL(fileURLWithPath: path + "/made"))
        }
    }

    @Test(arguments: ["datavault.id.a", "datavault.device-key"])
    func `deleting an unreadable vault calls the handler as well`(_ damaged: String) throws {
        nonisolated(unsafe) var received: [DataVaultDestruction] = []
        container.onDestruction = { received.append($0) }
        _ = try container.create(id: "a", password: "P4sSw0rD1")
        try home.keyStore().store(.random(count: 100), forName: damaged)
        #expect(try container.delete(id: "a"))
        #expect(received == [DataVaultDestruction(id: "a", isSelfDestructed: false)])
        #expect(try home.databases() == [])
        #expect(try home.keyStore().names() == ["datavault.device-key"])
        let existed = try container.delete(id: "a")
        #expect(!existed)
        #expect(received.count == 1)
    }

    #if os(Linux)
        @Test func `all vaults of the class have one handler, and each group has one container`()
            async throws
        {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                setenv("XDG_DATA_HOME", path, 1)
                var policy = DataVaultPasswordPolicy()
                policy.retryLimit = 1
                let own = try DataVault.create(id: "own", password: "P4sSw0rD1", policy: policy)
                own.lock()
                try DataVault.setAccessGroup("org.example.suite")
                let shared = try CurrentContainer.shared.value
                // A group may have the program's name.
                try DataVault.setAccessGroup(ProcessInfo.processInfo.processName)
                try #require(try !DataVault.exists(id: "own"))
                nonisolated(unsafe) var received: [String] = []
                DataVault.onDestruction = { received.append($0.id) }
                let error = dataVaultError { try own.unlock(password: "wrong password") }
                try #require(error?.isSelfDestructed == true)
                try #require(received == ["own"])
                try DataVault.setAccessGroup("org.example.suite")
                try #require(try CurrentContainer.shared.value === shared)
            }
        }
    #endif
}
