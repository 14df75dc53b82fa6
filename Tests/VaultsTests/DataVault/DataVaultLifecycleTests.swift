import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults

struct DataVaultLifecycleTests {
    let home: VaultHome
    let container: DataVaultContainer

    init() throws {
        home = try VaultHome()
        container = try home.container()
    }

    @Test func `deleting an unknown id leaves nothing`() throws {
        let before = try home.fileNames()
        try check(!container.delete(id: "unknown"))
        try check(home.fileNames(), equals: before)
    }

    @Test func `a vault is unlocked when created, locked when found again, and deleted once`()
        throws
    {
        try check(!container.exists(id: "a"))
        check(vaultCode { _ = try container.vault(id: "a") }, equals: 3)
        var vault: DataVault? = try container.create(id: "a", password: "P4sSw0rD1")
        check(vault?.isLocked, equals: false)
        check(vault?.id, equals: "a")
        try vault?.setString("name", value: "value")
        check(vaultCode { _ = try container.create(id: "a", password: "P4sSw0rD1") }, equals: 1)
        try check(container.exists(id: "a"))
        try check(container.ids(), equals: ["a"])

        vault = nil
        let found = try container.vault(id: "a")
        check(found.isLocked)
        try found.unlock(password: "P4sSw0rD1")
        try check(found.getString("name"), equals: "value")

        try check(container.delete(id: "a"))
        try check(!container.delete(id: "a"))
        try check(!container.exists(id: "a"))
        try check(container.ids(), equals: [])
        check(vaultCode { _ = try container.vault(id: "a") }, equals: 3)
        check(vaultCode { _ = try found.getString("name") }, equals: 3)
        check(vaultCode { try found.unlock(password: "P4sSw0rD1") }, equals: 3)
        try check(home.fileNames().allSatisfy { $0.hasSuffix(".lock") })
        try check(home.keyStore().names(), equals: ["datavault.device-key"])
    }

    @Test func `a vault has one object, even in two containers`() throws {
        let vault = try container.create(id: "a", password: "")
        try check(container.vault(id: "a") === vault)
        try check(home.container().vault(id: "a") === vault)
        try check(container.create(id: "b", password: "") !== vault)
    }

    @Test func `a vault created again under an id has nothing of the old one`() throws {
        let old = try container.create(id: "a", password: "P4sSw0rD1")
        try old.setString("name", value: "old")
        let sealed = try old.encrypt(Data("old".utf8))
        try container.delete(id: "a")
        let new = try container.create(id: "a", password: "P4sSw0rD2")
        check(new === old)
        try check(new.dataNames, equals: [])
        check(vaultCode { _ = try new.decrypt(sealed) }, equals: 6)
        try check(home.databases().count, equals: 1)
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
            check(vault.id.utf8.elementsEqual(id.utf8))
            try vault.unlock(password: "")
            try check(vault.getString("number"), equals: "\(number)")
        }
        let found = try container.ids().map { Array($0.utf8) }
        check(Set(found), equals: Set(Self.ids.map { Array($0.utf8) }))
        check(found.count, equals: Self.ids.count)
        try check(
            FileManager.default.contentsOfDirectory(atPath: home.path).sorted(), equals: before)
        for id in Self.ids { try check(container.delete(id: id)) }
        try check(container.ids(), equals: [])
    }

    @Test func `an id of 0 or 256 bytes is refused by every call`() throws {
        for (id, code) in [("", 4), (String(repeating: "x", count: 256), 9)] {
            check(vaultCode { _ = try container.create(id: id, password: "") }, equals: code)
            check(vaultCode { _ = try container.vault(id: id) }, equals: code)
            check(vaultCode { _ = try container.delete(id: id) }, equals: code)
            check(vaultCode { _ = try container.exists(id: id) }, equals: code)
        }
        try check(home.fileNames(), equals: [])
    }

    @Test func `a database whose keys were lost is reported to exist, refused, and deleted`() throws
    {
        _ = try container.create(id: "a", password: "")
        let keys = home.url.appendingPathComponent("keys")
        try FileManager.default.removeItem(at: keys)
        let container = try home.container()
        try check(container.exists(id: "a"))
        check(vaultCode { _ = try container.create(id: "a", password: "") }, equals: 1)
        // Nor is a key created that could never open the rest of the directory.
        let other = dataVaultError { _ = try container.create(id: "b", password: "") }
        check(other?.code, equals: 6)
        check(other?.description.contains("the key store was lost"), equals: true)
        try check(home.keyStore().names(), equals: [])
        let error = dataVaultError { _ = try container.vault(id: "a") }
        check(error?.code, equals: 6)
        check(error?.cause as? KeyStoreError, equals: .notFound(name: "datavault.id.a"))
        try check(container.delete(id: "a"))
        try check(!container.exists(id: "a"))
        try check(home.databases(), equals: [])
        _ = try container.create(id: "a", password: "")
    }

    @Test func `a lost device key is not replaced, and its vaults can be deleted`() throws {
        _ = try container.create(id: "a", password: "")
        let store = try home.keyStore()
        let key = try store.read("datavault.device-key")
        try store.remove("datavault.device-key")
        check(vaultCode { _ = try container.vault(id: "a") }, equals: 6)
        check(vaultCode { _ = try container.create(id: "b", password: "") }, equals: 6)
        try check(store.names(), equals: ["datavault.id.a"])
        try check(container.exists(id: "a"))
        try check(container.ids(), equals: ["a"])
        // The key is restored from a backup.
        try store.store(key, forName: "datavault.device-key")
        try container.vault(id: "a").unlock(password: "")
        try store.remove("datavault.device-key")
        try check(container.delete(id: "a"))
        try check(home.databases(), equals: [])
        _ = try container.create(id: "a", password: "")
    }

    @Test func `while the key store is locked, nothing is created and nothing is lost`() throws {
        let store = InMemoryKeyStore()
        let container = try home.container(store)
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        store.isLocked = true
        check(vaultCode { _ = try container.create(id: "a", password: "") }, equals: 6)
        check(vaultCode { _ = try container.create(id: "b", password: "") }, equals: 6)
        check(vaultCode { _ = try container.vault(id: "a") }, equals: 6)
        check(vaultCode { _ = try container.exists(id: "b") }, equals: 6)
        check(vaultCode { _ = try container.ids() }, equals: 6)
        check(vaultCode { _ = try container.delete(id: "a") }, equals: 7)
        try check(vault.getString("name") == nil)
        vault.lock()
        check(vaultCode { _ = try vault.getString("name") }, equals: 8)
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 6)
        store.isLocked = false
        try vault.unlock(password: "P4sSw0rD1")
        try check(vault.triesLeft == nil)
        try check(container.ids(), equals: ["a"])
    }

    @Test func `vaults of an earlier installation have keys but no file`() throws {
        _ = try container.create(id: "old", password: "P4sSw0rD1")
        try FileManager.default.removeItem(at: home.directory)
        let container = try home.container()
        _ = try container.create(id: "new", password: "")
        try check(container.ids(), equals: ["new", "old"])
        try check(container.idsOfEarlierInstallation(), equals: ["old"])
        check(vaultCode { _ = try container.create(id: "old", password: "") }, equals: 1)
        check(vaultCode { try container.vault(id: "old").unlock(password: "P4sSw0rD1") }, equals: 6)
        for id in try container.idsOfEarlierInstallation() { try container.delete(id: id) }
        _ = try container.create(id: "old", password: "")
        try check(container.idsOfEarlierInstallation(), equals: [])
    }

    @Test func `the list of ids is complete and has no false name`() throws {
        let ids = ["x", "y"].map { String(repeating: $0, count: 250) } + ["short"]
        for id in ids { _ = try container.create(id: id, password: "") }
        try check(container.ids(), equals: ["short"] + ids.prefix(2))
        let store = try home.keyStore()
        let names = try store.names().filter { $0.hasPrefix("datavault.hash.") }
        check(names.count, equals: 2)
        // A damaged record's id is still listed if the record's name contains it.
        try store.store(.random(count: 100), forName: "datavault.id.short")
        try check(container.ids(), equals: ["short"] + ids.prefix(2))
        try store.store(try store.read(names[1]), forName: names[0])
        check(vaultCode { _ = try container.ids() }, equals: 6)
        for id in ids { try check(container.delete(id: id)) }
        try check(container.ids(), equals: [])
    }

    @Test func `files are private to the user, named without the id, and not plaintext`() throws {
        let vault = try container.create(id: Marker.text, password: Marker.text)
        try vault.setString(Marker.text, value: Marker.text)
        try vault.setValue("data", value: Marker.blob)
        vault.lock()
        try vault.unlock(password: Marker.text)
        try check(!home.fileNames().contains { $0.contains(Marker.text) })
        try check(Marker.places(in: [home.directory.path]), equals: [])
        try check(home.fileNames().count, equals: 5)
        for name in try home.fileNames() {
            var status = stat()
            check(lstat(home.directory.path + "/" + name, &status), equals: 0)
            check(status.st_mode & 0o777, equals: 0o600, "\(name)")
        }
    }

    @Test func `a directory that others can write to is refused`() throws {
        _ = chmod(home.directory.path, 0o777)
        check(vaultCode { _ = try home.container() }, equals: 4)
        let web = try require(URL(string: "https://example.org"))
        check(vaultCode { _ = try DataVaultContainer(directory: web) }, equals: 4)
    }

    @Test func `a symbolic link in place of a lock file is not followed`() throws {
        _ = try container.create(id: "a", password: "")
        let names = try home.fileNames()
        let locks = names.filter { $0.hasSuffix(".lock") }
        check(locks.count, equals: 2)
        for lock in locks {
            let path = home.directory.path + "/" + lock
            let target = home.path + "/target"
            unlink(path)
            symlink(target, path)
            check(vaultCode { _ = try container.delete(id: "a") }, equals: 7)
            check(access(target, F_OK) != 0)
            unlink(path)
        }
        try check(container.delete(id: "a"))
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
            try check(DataVault.ids(), equals: [])
            _ = try DataVault.create(id: "named", password: "")
            check(
                FileManager.default.fileExists(atPath: path + "/org.example.notes/DataVaults/Keys"))
            // The program was renamed: its earlier name has the vaults.
            try DataVault.setApplicationName(ProcessInfo.processInfo.processName)
            try check(DataVault.ids(), equals: ["unnamed"])
            try DataVault.setApplicationName("org.example.notes")
            try check(DataVault.ids(), equals: ["named"])
            for name in ["", ".", "..", ".hidden", "a/b", "a\0b"] {
                check(vaultCode { try DataVault.setApplicationName(name) }, equals: 4)
            }
            let long = String(repeating: "n", count: 256)
            check(vaultCode { try DataVault.setApplicationName(long) }, equals: 9)
        }

        @Test func `the guide's calls use this program's vaults, or shared ones`() async throws {
            await #expect(processExitsWith: .success) { [path = home.path as String] in
                setenv("XDG_DATA_HOME", path, 1)
                try require(DataVault.dataVaultIds() == [])
                let vault = try DataVault.createVault("a", password: "")
                try require(DataVault.getVault("a") === vault)
                try require(DataVault.vaultExists("a"))
                let found = try FileManager.default.subpathsOfDirectory(atPath: path)
                try require(found.contains { $0.hasSuffix("/DataVaults/Keys") })
                try DataVault.setAccessGroup("org.example.suite")
                try require(!DataVault.vaultExists("a"))
                _ = try DataVault.createVault("b", password: "")
                try require(DataVault.ids() == ["b"])
                try require(
                    FileManager.default.fileExists(
                        atPath: path + "/org.example.suite/SharedDataVaults"))
                // The vault from before the switch is unaffected.
                try vault.setString("name", value: "value")
                vault.lock()
                try vault.unlock("")
                try require(vault.getString("name") == "value")
                nonisolated(unsafe) var destroyed: [String] = []
                DataVault.onDestruction = { destroyed.append($0.id) }
                try require(DataVault.deleteVault("b"))
                try require(!DataVault.deleteVault("b"))
                try require(destroyed == ["b"])
                for group in ["", "a/b", ".hidden"] {
                    #expect(throws: DataVaultError.self) { try DataVault.setAccessGroup(group) }
                }
            }
        }
    #endif
}
