import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import Vaults
@testable import VaultsTests

extension GuideTests {
    /// "Introduction to DataVault" to "Notes about removal".
    static let lifecycleRows: [GuideRow] = [
        GuideRow("The DataVault library is a simple yet versatile solution") { guide in
            let vault = try guide.vault()
            try vault.setString("user", value: "a secret value")
            vault.lock()
            let found = try guide.bytes()
            check(found.count > 1)
            check(found.allSatisfy { $0.range(of: Data("a secret value".utf8)) == nil })
            check(vaultCode { try vault.unlock(password: Guide.wrongPassword) }, equals: 5)
        },
        GuideRow(
            "Under the hood, data vault uses the iOS KeyChain",
            butHere: "only the keys are in the key store, values are in an encrypted database"
        ) { guide in
            let vault = try guide.vault()
            let before = try guide.home.keyStore().read(vault.place.entryName)
            try vault.setString("user", value: "value")
            try check(guide.home.keyStore().read(vault.place.entryName), equals: before)
            try check(guide.home.databases().count, equals: 1)
            // The layer on top: the entry in the key store does not give access to the key.
            let key = try vault.withOpened { try $0.key.material.secret() }
            let needle = key.withUnsafeBytes { Data($0) }
            try check(guide.bytes().allSatisfy { $0.range(of: needle) == nil })
        },
        GuideRow(
            "The library can be configured to create data vaults in one", isOfClass: true
        ) { guide in
            let folders = { try FileManager.default.contentsOfDirectory(atPath: guide.home.path) }
            _ = try DataVault.createVault("a", password: "")
            try require(folders().contains(ProcessInfo.processInfo.processName))
            try require(!folders().contains("org.example.suite"))
            try DataVault.setAccessGroup("org.example.suite")
            _ = try DataVault.createVault("a", password: "")
            try require(folders().contains("org.example.suite"))
        },
        GuideRow("A data vault is represented by an instance of the DataVault class") { guide in
            let vault = try guide.vault()
            try check(guide.container.vault(id: vault.id) === vault)
        },
        GuideRow("You can obtain an instance of a data vault", isOfClass: true) { _ in
            let made: DataVault = try DataVault.createVault("a", password: Guide.password)
            try require(DataVault.getVault("a") === made)
            let other: DataVault = try DataVault.create(id: "b", password: "")
            try require(DataVault.vault(id: "b") === other)
        },
        GuideRow(
            "The data vault is private to the application", isOfClass: true
        ) { guide in
            _ = try DataVault.createVault("a", password: Guide.password)
            let own = ProcessInfo.processInfo.processName
            let folders = try FileManager.default.contentsOfDirectory(atPath: guide.home.path)
            try require(folders.filter { $0 != "keys" && $0 != "vaults" } == [own])
        },
        GuideRow(
            "No other apps can have access to the data",
            butHere: "without a keychain: no other users, by the modes of its files",
            isOfClass: true
        ) { guide in
            let vault = try DataVault.createVault("a", password: Guide.password)
            try vault.setString("name", value: "value")
            let own = guide.home.url.appendingPathComponent(ProcessInfo.processInfo.processName)
            for name in try FileManager.default.subpathsOfDirectory(atPath: own.path) + [""] {
                let path = own.appendingPathComponent(name).path
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                try require((mode as? Int).map { $0 & 0o077 } == 0, "\(path)")
            }
        },
        .waiting("The data vault is shared across a set of applications") { guide in
            let group = "org.example.suite"
            await guide.makeVault(asProgram: "One", group: group, token: "1234")
            for name in ["One", "Two", "Three"] {
                await guide.expect("1234", asProgram: name, group: group)
            }
            await guide.expect(nil, asProgram: "One", group: "org.example.other")
        },
        GuideRow(
            "This feature is implemented using iOS KeyChain sharing",
            butHere: "elsewhere by a directory with the permissions of a group", isOfClass: true
        ) { guide in
            let directory = guide.home.url.appendingPathComponent("group")
            try require(mkdir(directory.path, 0o700) == 0 && chmod(directory.path, 0o2770) == 0)
            try DataVault.setAccessGroup(directory.path)
            let vault = try DataVault.createVault("a", password: Guide.password)
            try vault.setString("name", value: "value")
            let names = try FileManager.default.contentsOfDirectory(atPath: directory.path)
            try require(names.contains { $0.hasSuffix(".vault") })
            for name in names {
                let path = directory.appendingPathComponent(name).path
                let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
                try require(mode as? Int == 0o660, "\(name)")
            }
        },
        GuideRow(
            "For it to work, the [DataVault setAccessGroup:] class-level method",
            butHere: "elsewhere than on Apple platforms the group is a directory", isOfClass: true
        ) { guide in
            try DataVault.setAccessGroup("org.example.suite")
            _ = try DataVault.createVault("a", password: Guide.password)
            let url = guide.home.url.appendingPathComponent("org.example.suite/SharedDataVaults")
            let other = try DataVaultContainer(directory: url)
            try require(other.ids() == ["a"])
        },
        .waiting("As the user navigates between the apps") { guide in
            // Each app unlocks the vault for itself, with the same password, even while another app
            // uses it.
            let group = "org.example.suite"
            await guide.makeVault(asProgram: "One", group: group, token: "5678")
            let directory = guide.home.url.appendingPathComponent("\(group)/SharedDataVaults")
            let vault = try DataVaultContainer(directory: directory).vault(id: "shared")
            try await vault.unlock(password: Guide.password)
            await guide.expect("5678", asProgram: "Two", group: group)
            check(!vault.isLocked)
            try check(vault.getString("token"), equals: "5678")
        },
        GuideRow(
            "No matter the configured mode, a particular vault instance", isOfClass: true
        ) { _ in
            for group in [nil, "org.example.suite"] {
                if let group { try DataVault.setAccessGroup(group) }
                let one = try DataVault.createVault("one", password: "")
                let other = try DataVault.createVault("other", password: "")
                try one.setString("name", value: "1")
                try other.setString("name", value: "2")
                try require(DataVault.getVault("one").getString("name") == "1")
                try require(DataVault.getVault("other").getString("name") == "2")
            }
        },
        GuideRow("This is an arbitrary string but it is recommended") { guide in
            let long = String(repeating: "x", count: 255)
            for id in ["com.mycompany.myapp.mainvault", "../../etc/passwd", "a b\n", "🔑", long] {
                let vault = try guide.vault(id)
                try check(guide.container.vault(id: id) === vault)
            }
            check(vaultCode { _ = try guide.vault(long + "x") }, equals: 9)
        },
        GuideRow("The vault itself can be created, opened and deleted") { guide in
            _ = try guide.container.create(id: "a", password: Guide.password)
            try check(guide.container.vault(id: "a").id, equals: "a")
            try check(guide.container.delete(id: "a"))
            try check(!guide.container.exists(id: "a"))
        },
        GuideRow(
            "Although the method of identification is independent of the mode", isOfClass: true
        ) { _ in
            let own = try DataVault.createVault("a", password: Guide.password)
            try DataVault.setAccessGroup("org.example.suite")
            try require(!DataVault.vaultExists("a"))
            try require(DataVault.createVault("a", password: Guide.password) !== own)
        },
        .waiting("In private mode, identifiers are scoped to the current application") { guide in
            await guide.makeVault(asProgram: "One", group: nil, token: "1")
            await guide.expect(nil, asProgram: "Two", group: nil)
            await guide.makeVault(asProgram: "Two", group: nil, token: "2")
            await guide.expect("1", asProgram: "One", group: nil)
        },
        .waiting("In shared mode, identifiers are shared across") { guide in
            await guide.makeVault(asProgram: "One", group: "org.example.suite", token: "1")
            await guide.expect("1", asProgram: "Two", group: "org.example.suite")
            await guide.expect(nil, asProgram: "One", group: nil)
            await guide.expect(nil, asProgram: "Two", group: nil)
        },
        .waiting("If you create a shared data vault in one app") { guide in
            // A path of the group's directory works as well.
            let directory = guide.home.url.appendingPathComponent("group").path
            try require(mkdir(directory, 0o700) == 0 && chmod(directory, 0o2770) == 0)
            await guide.makeVault(asProgram: "One", group: directory, token: "90")
            await guide.expect("90", asProgram: "Two", group: directory)
        },
        GuideRow("setAccessGroup: - Switches the library", isOfClass: true) { _ in
            let own = try DataVault.createVault("own", password: "")
            try DataVault.setAccessGroup("org.example.suite")
            _ = try DataVault.createVault("common", password: "")
            try require(DataVault.dataVaultIds() == ["common"])
            // A vault opened before the switch keeps working.
            try own.setString("name", value: "value")
        },
        GuideRow("createVault:password: - Use this method", isOfClass: true) { _ in
            let vault = try DataVault.createVault("a", password: Guide.password)
            try require(!vault.locked)
            vault.lock()
            try vault.unlock(Guide.password)
        },
        GuideRow("You must ensure that a vault with the same identifier") { guide in
            let vault = try guide.vault("a")
            check(vaultCode { _ = try guide.vault("a", password: Guide.newPassword) }, equals: 1)
            vault.lock()
            try vault.unlock(password: Guide.password)
        },
        GuideRow("getVault: - Opens an existing data vault", isOfClass: true) { _ in
            do { _ = try DataVault.createVault("a", password: Guide.password) }
            try require(DataVault.getVault("a").locked)
        },
        GuideRow("The vault must exist.") { guide in
            check(vaultCode { _ = try guide.container.vault(id: "absent") }, equals: 3)
            let exists = try guide.container.exists(id: "absent")
            check(!exists)
        },
        GuideRow("deleteVault: - Deletes a vault", isOfClass: true) { _ in
            let vault = try DataVault.createVault("a", password: Guide.password)
            try require(DataVault.deleteVault("a"))
            try require(vaultCode { _ = try DataVault.getVault("a") } == 3)
            try require(vaultCode { _ = try vault.getString("name") } == 3)
        },
        GuideRow(
            "Does nothing if the vault has not been created yet",
            butHere: "and says that there was none", isOfClass: true
        ) { _ in
            try require(!DataVault.deleteVault("absent"))
        },
        GuideRow("vaultExists: - Indicates whether", isOfClass: true) { _ in
            try require(!DataVault.vaultExists("a"))
            _ = try DataVault.createVault("a", password: Guide.password)
            try require(DataVault.vaultExists("a"))
            try require(!DataVault.vaultExists("b"))
        },
        GuideRow(
            "As the data vault is built on top of the iOS KeyChain",
            butHere: "the values go with the app's files, the keys stay where it is a keychain"
        ) { guide in
            do { _ = try guide.vault("a") }
            try FileManager.default.removeItem(at: guide.home.directory)
            let reinstalled = try guide.home.container()
            try check(reinstalled.exists(id: "a"))
            try check(reinstalled.idsOfEarlierInstallation(), equals: ["a"])
        },
        GuideRow("If you don't want a previous data vault to pollute") { guide in
            do { _ = try guide.vault("a") }
            try FileManager.default.removeItem(at: guide.home.directory)
            let reinstalled = try guide.home.container()
            for id in try reinstalled.idsOfEarlierInstallation() {
                try check(reinstalled.delete(id: id))
            }
            try check(reinstalled.ids(), equals: [])
            _ = try reinstalled.create(id: "a", password: "")
        },
        GuideRow(
            "Creating a new instance using [[DataVault alloc] init]", butHere: "does not compile"
        ) { _ in
            let sources = try Guide.sources().filter {
                $0.key.hasPrefix("DataVault/DataVault.") || $0.key.hasPrefix("DataVault/DataVault+")
            }
            check(sources.count > 4)
            for (name, source) in sources {
                check(
                    source.range(of: #"public (convenience )?init"#, options: .regularExpression)
                        == nil, "\(name)")
            }
        },
    ]
}
