import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

/// The app's handler: when it is called, when it is called again, and which calls wait for it.
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
        check(error?.isSelfDestructed, equals: true)
        return vault
    }

    @Test func `the reason a vault is gone is reported until the id is used again`() throws {
        let vault = try destroyed()
        for _ in 1...2 {
            check(
                dataVaultError { _ = try vault.getString("name") }?.isSelfDestructed, equals: true)
            let again = dataVaultError { _ = try home.container().vault(id: "a") }
            check(again?.isSelfDestructed, equals: true)
            try check(container.ids(), equals: [])
            let exists = try container.exists(id: "a")
            check(!exists)
        }
        try check(home.databases(), equals: [])
        let existed = try container.delete(id: "a")
        check(!existed)
        check(dataVaultError { _ = try container.vault(id: "a") }?.isSelfDestructed, equals: false)
        _ = try destroyed()
        let new = try container.create(id: "a", password: "P4sSw0rD2")
        try check(new.dataNames, equals: [])
    }

    @Test func `a handler set later is called once, and not by a query`() throws {
        _ = try destroyed()
        nonisolated(unsafe) var received: [DataVaultDestruction] = []
        container.onDestruction = { received.append($0) }
        _ = try container.exists(id: "a")
        _ = try container.ids()
        check(received, equals: [])
        for _ in 1...2 {
            check(vaultCode { _ = try container.vault(id: "a") }, equals: 3)
            check(received, equals: [DataVaultDestruction(id: "a", isSelfDestructed: true)])
        }
        try container.delete(id: "a")
        check(received.count, equals: 1)
    }

    @Test func `a handler that throws is called again until it succeeds`() throws {
        nonisolated(unsafe) var calls = 0
        container.onDestruction = { _ in
            calls += 1
            if calls < 4 { throw CocoaError(.fileNoSuchFile) }
        }
        _ = try container.create(id: "a", password: "P4sSw0rD1")
        check(vaultCode { try container.delete(id: "a") }, equals: 0)
        check(dataVaultError { _ = try container.vault(id: "a") }?.cause is CocoaError)
        // Nor is a new vault created while the handler has not succeeded for the old one.
        check(vaultCode { _ = try container.create(id: "a", password: "") }, equals: 0)
        check(calls, equals: 3)
        _ = try container.create(id: "a", password: "")
        check(calls, equals: 4)
    }

    @Test func `a vault with the same id is not created while the handler runs`() throws {
        _ = try container.create(id: "a", password: "P4sSw0rD1")
        container.onDestruction = { [gate] _ in gate.pass() }
        gate.close()
        let deletion = Answer { [container] in try container.delete(id: "a") }
        while !gate.isSomebodyWaiting { usleep(1000) }
        // Other calls get the error without waiting.
        check(vaultCode { _ = try container.vault(id: "a") }, equals: 3)
        nonisolated(unsafe) var isMade = false
        let creation = Answer { [home] in
            _ = try home.container().create(id: "a", password: "P4sSw0rD2")
            isMade = true
        }
        usleep(200_000)
        check(!isMade)
        gate.open()
        check(deletion.code == nil)
        check(creation.code == nil)
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
        check(access(made, F_OK) != 0)
        gate.open()
        await child
        check(access(made, F_OK), equals: 0)
        check(deletion.code == nil)
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
        try check(container.delete(id: "a"))
        check(received, equals: [DataVaultDestruction(id: "a", isSelfDestructed: false)])
        try check(home.databases(), equals: [])
        try check(home.keyStore().names(), equals: ["datavault.device-key"])
        let existed = try container.delete(id: "a")
        check(!existed)
        check(received.count, equals: 1)
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
                try require(!DataVault.exists(id: "own"))
                nonisolated(unsafe) var received: [String] = []
                try require(DataVault.onDestruction == nil)
                DataVault.onDestruction = { received.append($0.id) }
                try require(DataVault.onDestruction != nil)
                let error = dataVaultError { try own.unlock(password: "wrong password") }
                try require(error?.isSelfDestructed == true)
                try require(received == ["own"])
                try DataVault.setAccessGroup("org.example.suite")
                try require(CurrentContainer.shared.value === shared)
            }
        }
    #endif
}
