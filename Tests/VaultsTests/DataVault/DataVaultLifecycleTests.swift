import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

@Suite(.timeLimit(.minutes(10)))
struct DataVaultLifecycleTests {
    let home: VaultHome
    let container: DataVaultContainer

    init() throws {
        home = try VaultHome()
        container = try home.container()
    }

    @Test func `deleting an unknown id leaves nothing`() throws {
        let before = try home.fileNames()
        #expect(try !container.delete(id: "unknown"))
        #expect(try home.fileNames() == before)
    }

    @Test func `a vault is unlocked when created, locked when found again, and deleted once`()
        throws
    {
        #expect(try !container.exists(id: "a"))
        #expect(vaultCode { _ = try container.vault(id: "a") } == 3)
        var vault: DataVault? = try container.create(id: "a", password: "P4sSw0rD1")
        #expect(vault?.isLocked == false)
        #expect(vault?.id == "a")
        try vault?.setString("name", value: "value")
        #expect(vaultCode { _ = try container.create(id: "a", password: "P4sSw0rD1") } == 1)
        #expect(try container.exists(id: "a"))
        #expect(try container.ids() == ["a"])

        vault = nil
        let found = try container.vault(id: "a")
        #expect(found.isLocked)
        try found.unlock(password: "P4sSw0rD1")
        #expect(try found.getString("name") == "value")

        #expect(try container.delete(id: "a"))
        #expect(try !container.delete(id: "a"))
        #expect(try !container.exists(id: "a"))
        #expect(try container.ids() == [])
        #expect(vaultCode { _ = try container.vault(id: "a") } == 3)
        #expect(vaultCode { _ = try found.getString("name") } == 3)
        #expect(vaultCode { try found.unlock(password: "P4sSw0rD1") } == 3)
        #expect(try home.fileNames().allSatisfy { $0.hasSuffix(".lock") })
        #expect(try home.keyStore().names() == ["datavault.device-key"])
    }

    @Test func `a vault has one object, even in two containers`() throws {
        let vault = try container.create(id: "a", password: "")
        #expect(try container.vault(id: "a") === vault)
        #expect(try home.container().vault(id: "a") === vault)
        #expect(try container.create(id: "b", password: "") !== vault)
    }

    @Test func `a vault created again under an id has nothing of the old one`() throws {
        let old = try container.create(id: "a", password: "P4sSw0rD1")
        try old.setString("name", value: "old")
        let sealed = try old.encrypt(Data("old".utf8))
        try container.delete(id: "a")
        let new = try container.create(id: "a", password: "P4sSw0rD2")
        #expect(new === old)
        #expect(try new.dataNames == [])
        #expect(vaultCode { _ = try new.decrypt(sealed) } == 6)
        #expect(try home.databases().count == 1)
    }

    static let ids = [
        "com.mycompany.myapp.mainvault", "../x", "../../x", "/etc/passwd", "a/b", "a\0b", "\0", ".",
        "..", " ", "a b", "con", "a:b", "x'y\"z", "-rf", "~", "%00", "caf\u{e9}", "cafe\u{301}",
        "Case", "case", "CASE", "\u{301}", "𝄞", "\u{202e}gnp", "a\nb", "datavault.device-key",
        String(repeating: "x", count: 242), String(repeating: "x", count: 243),
        String(repeating: "x", count: 255), String(repeating: "é", count: 127),
    ]

    @Test func `ids may be any text, differ by their bytes, and never act as paths`() throws {
        let before = try FileManager.default.contentsOfDirectory(atPath: home.path).sorted()
        for (number, id) in Self.ids.enumerated() {
            let vault = try container.create(id: id, password: "")
            try vault.setString("number", value: "\(number)")
        }
        for (number, id) in Self.ids.enumerated() {
            let vault = try container.vault(id: id)
            #expect(vault.id.utf8.elementsEqual(id.utf8))
            try vault.unlock(password: "")
            #expect(try vault.getString("number") == "\(number)")
        }
        let found = try container.ids().map { Array($0.utf8) }
        #expect(Set(found) == Set(Self.ids.map { Array($0.utf8) }))
        #expect(found.count == Self.ids.count)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home.path).sorted() == before)
        for id in Self.ids { #expect(try container.delete(id: id)) }
        #expect(try container.ids() == [])
    }

    @Test func `an id of 0 or 256 bytes is refused by every call`() throws {
        for (id, code) in [("", 4), (String(repeating: "x", count: 256), 9)] {
            #expect(vaultCode { _ = try container.create(id: id, password: "") } == code)
            #expect(vaultCode { _ = try container.vault(id: id) } == code)
            #expect(vaultCode { _ = try container.delete(id: id) } == code)
            #expect(vaultCode { _ = try container.exists(id: id) } == code)
        }
        #expect(try home.fileNames() == [])
    }

    @Test func `a database whose keys were lost is reported to exist, refused, and deleted`() throws
    {
        _ = try container.create(id: "a", password: "")
        let keys = home.url.appendingPathComponent("keys")
        try FileManager.default.removeItem(at: keys)
        let container = try home.container()
        #expect(try container.exists(id: "a"))
        #expect(vaultCode { _ = try container.create(id: "a", password: "") } == 1)
        // Nor is a key created that could never open the rest of the directory.
        let other = dataVaultError { _ = try container.create(id: "b", password: "") }
        #expect(other?.code == 6)
        #expect(other?.description.contains("the key store was lost") == true)
        #expect(try home.keyStore().names() == [])
        let error = dataVaultError { _ = try container.vault(id: "a") }
        #expect(error?.code == 6)
        #expect(error?.cause as? KeyStoreError == .notFound(name: "datavault.id.a"))
        #expect(try container.delete(id: "a"))
        #expect(try !container.exists(id: "a"))
        #expect(try home.databases() == [])
        _ = try container.create(id: "a", password: "")
    }

    @Test func `a lost device key is not replaced, and its vaults can be deleted`() throws {
        _ = try container.create(id: "a", password: "")
        let store = try home.keyStore()
        let key = try store.read("datavault.device-key")
        try store.remove("datavault.device-key")
        #expect(vaultCode { _ = try container.vault(id: "a") } == 6)
        #expect(vaultCode { _ = try container.create(id: "b", password: "") } == 6)
        #expect(try store.names() == ["datavault.id.a"])
        #expect(try container.exists(id: "a"))
        #expect(try container.ids() == ["a"])
        // The key is restored from a backup.
        try store.store(key, forName: "datavault.device-key")
        try container.vault(id: "a").unlock(password: "")
        try store.remove("datavault.device-key")
        #expect(try container.delete(id: "a"))
        #expect(try home.databases() == [])
        _ = try container.create(id: "a", password: "")
    }

    @Test func `while the key store is locked, nothing is created and nothing is lost`() throws {
        let store = InMemoryKeyStore()
        let container = try home.container(store)
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        store.isLocked = true
        #expect(vaultCode { _ = try container.create(id: "a", password: "") } == 6)
        #expect(vaultCode { _ = try container.create(id: "b", password: "") } == 6)
        #expect(vaultCode { _ = try container.vault(id: "a") } == 6)
        #expect(vaultCode { _ = try container.exists(id: "b") } == 6)
        #expect(vaultCode { _ = try container.ids() } == 6)
        #expect(vaultCode { _ = try container.delete(id: "a") } == 7)
        #expect(try vault.getString("name") == nil)
        vault.lock()
        #expect(vaultCode { _ = try vault.getString("name") } == 8)
        #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 6)
        store.isLocked = false
        try vault.unlock(password: "P4sSw0rD1")
        #expect(try vault.triesLeft == nil)
        #expect(try container.ids() == ["a"])
    }

    @Test func `vaults of an earlier installation have keys but no file`() throws {
        _ = try container.create(id: "old", password: "P4sSw0rD1")
        try FileManager.default.removeItem(at: home.directory)
        let container = try home.container()
        _ = try container.create(id: "new", password: "")
        #expect(try container.ids() == ["new", "old"])
        #expect(try container.idsOfEarlierInstallation() == ["old"])
        #expect(vaultCode { _ = try container.create(id: "old", password: "") } == 1)
        #expect(vaultCode { try container.vault(id: "old").unlock(password: "P4sSw0rD1") } == 6)
        for id in try container.idsOfEarlierInstallation() { try container.delete(id: id) }
        _ = try container.create(id: "old", password: "")
        #expect(try container.idsOfEarlierInstallation() == [])
    }

    @Test func `the list of ids is complete and has no false name`() throws {
        let ids = ["x", "y"].map { String(repeating: $0, count: 250) } + ["short"]
        for id in ids { _ = try container.create(id: id, password: "") }
        #expect(try container.ids() == ["short"] + ids.prefix(2))
        let store = try home.keyStore()
        let names = try store.names().filter { $0.hasPrefix("datavault.hash.") }
        #expect(names.count == 2)
        // A damaged record's id is still listed if the record's name contains it.
        try store.store(.random(count: 100), forName: "datavault.id.short")
        #expect(try container.ids() == ["short"] + ids.prefix(2))
        try store.store(try store.read(names[1]), forName: names[0])
        #expect(vaultCode { _ = try container.ids() } == 6)
        for id in ids { #expect(try container.delete(id: id)) }
        #expect(try container.ids() == [])
    }

    @Test func `files are private to the user, named without the id, and not plaintext`() throws {
        let vault = try container.create(id: Marker.text, password: Marker.text)
        try vault.setString(Marker.text, value: Marker.text)
        try vault.setValue("data", value: Marker.blob)
        vault.lock()
        try vault.unlock(password: Marker.text)
        #expect(try !home.fileNames().contains { $0.contains(Marker.text) })
        #expect(try Marker.places(in: [home.directory.path]) == [])
        #expect(try home.fileNames().count == 5)
        for name in try home.fileNames() {
            var status = stat()
            #expect(lstat(home.directory.path + "/" + name, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o600, "\(name)")
        }
    }

    @Test func `a directory that others can write to is refused`() throws {
        _ = chmod(home.directory.path, 0o777)
        #expect(vaultCode { _ = try home.container() } == 4)
        let web = try #require(URL(string: "https://example.org"))
        #expect(vaultCode { _ = try DataVaultContainer(directory: web) } == 4)
    }

    @Test func `a symbolic link in place of a lock file is not followed`() throws {
        _ = try container.create(id: "a", password: "")
        let names = try home.fileNames()
        let locks = names.filter { $0.hasSuffix(".lock") }
        #expect(locks.count == 2)
        for lock in locks {
            let path = home.directory.path + "/" + lock
            let target = home.path + "/target"
            unlink(path)
            symlink(target, path)
            #expect(vaultCode { _ = try container.delete(id: "a") } == 7)
            #expect(access(target, F_OK) != 0)
            unlink(path)
        }
        #expect(try container.delete(id: "a"))
    }

    #if os(Linux)
        @Test func `an application's vaults are found by its name`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                try Self.useNames(path)
            }
        }

        private static func useNames(_ path: String) throws {
            setenv("XDG_DATA_HOME", path, 1)
            _ = try DataVault.create(id: "unnamed", password: "")
            try DataVault.setApplicationName("org.example.notes")
            #expect(try DataVault.ids() == [])
            _ = try DataVault.create(id: "named", password: "")
            #expect(
                FileManager.default.fileExists(atPath: path + "/org.example.notes/DataVaults/Keys"))
            // The program was renamed: its earlier name has the vaults.
            try DataVault.setApplicationName(ProcessInfo.processInfo.processName)
            #expect(try DataVault.ids() == ["unnamed"])
            try DataVault.setApplicationName("org.example.notes")
            #expect(try DataVault.ids() == ["named"])
            for name in ["", ".", "..", ".hidden", "a/b", "a\0b"] {
                #expect(vaultCode { try DataVault.setApplicationName(name) } == 4)
            }
            let long = String(repeating: "n", count: 256)
            #expect(vaultCode { try DataVault.setApplicationName(long) } == 9)
        }

        @Test func `the guide's calls use this program's vaults, or shared ones`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                setenv("XDG_DATA_HOME", path, 1)
                try #require(try DataVault.dataVaultIds() == [])
                let vault = try DataVault.createVault("a", password: "")
                try #require(try DataVault.getVault("a") === vault)
                try #require(try DataVault.vaultExists("a"))
                let found = try FileManager.default.subpathsOfDirectory(atPath: path)
                try #require(found.contains { $0.hasSuffix("/DataVaults/Keys") })
                try DataVault.setAccessGroup("org.example.suite")
                try #require(try !DataVault.vaultExists("a"))
                _ = try DataVault.createVault("b", password: "")
                try #require(try DataVault.ids() == ["b"])
                try #require(
                    FileManager.default.fileExists(
                        atPath: path + "/org.example.suite/SharedDataVaults"))
                // The vault from before the switch is unaffected.
                try vault.setString("name", value: "value")
                vault.lock()
                try vault.unlock("")
                try #require(try vault.getString("name") == "value")
                nonisolated(unsafe) var destroyed: [String] = []
                DataVault.onDestruction = { destroyed.append($0.id) }
                try #require(try DataVault.deleteVault("b"))
                try #require(try !DataVault.deleteVault("b"))
                try #require(destroyed == ["b"])
                for group in ["", "a/b", ".hidden"] {
                    #expect(throws: DataVaultError.self) { try DataVault.setAccessGroup(group) }
                }
            }
        }
    #endif
}
