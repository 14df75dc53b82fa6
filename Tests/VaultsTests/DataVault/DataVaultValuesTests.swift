import Foundation
import SecureStorage
import TestSupport
import Testing

@testable import Vaults

struct DataVaultValuesTests {
    let home: VaultHome
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        vault = try home.container().create(id: "a", password: "")
    }

    @Test func `the last value set counts, with its type`() throws {
        try vault.setString("foo", value: "foo123")
        try check(vault.dataNames, equals: [DVDataName(name: "foo", type: .string)])
        try vault.setValue("foo", value: Data("bar".utf8))
        try check(vault.getValue("foo"), equals: Data("bar".utf8))
        try check(vault.dataNames, equals: [DVDataName(name: "foo", type: .binary)])
        try vault.setString("foo", value: "again")
        try check(vault.getString("foo"), equals: "again")
        try check(vault.dataNames, equals: [DVDataName(name: "foo", type: .string)])
    }

    @Test func `a string can be read as its bytes, but data cannot be read as a string`() throws {
        try vault.setString("string", value: "grün")
        try vault.setValue("data", value: Data("grün".utf8))
        try check(vault.getValue("string"), equals: Data("grün".utf8))
        check(vaultCode { _ = try vault.getString("data") }, equals: 2)
        try check(vault.getString("absent") == nil)
        try check(vault.getValue("absent") == nil)
    }

    @Test func `setting nil deletes a value, and so does deleteValue`() throws {
        for name in ["a", "b", "c", "d"] { try vault.setString(name, value: name) }
        try vault.setString("a", value: nil)
        try vault.setValue("b", value: nil)
        try check(vault.deleteValue("c"))
        try check(!vault.deleteValue("c"))
        try check(vault.dataNames.map(\.name), equals: ["d"])
        try vault.setString("absent", value: nil)
    }

    @Test func `texts, data and names are returned unchanged`() throws {
        let texts = [
            "", "a\0b", "\0", "é", "e\u{301}", "𝄞", String(repeating: "x", count: 100_000),
        ]
        for text in texts {
            try vault.setString("text", value: text)
            let found = try require(vault.getString("text"))
            check(found.utf8.elementsEqual(text.utf8))
        }
        for data in [Data(), Data([0]), Data(repeating: 0xff, count: 100_000)] {
            try vault.setValue("data", value: data)
            try check(vault.getValue("data"), equals: data)
        }
        let names = ["é", "e\u{301}", "a\0b", "../x", "A", "a", String(repeating: "n", count: 255)]
        for name in names { try vault.setString(name, value: name) }
        for name in names {
            try check(vault.getString(name)?.utf8.elementsEqual(name.utf8), equals: true)
        }
        let found = try vault.dataNames.map { Array($0.name.utf8) }
        check(Set(found), equals: Set((names + ["text", "data"]).map { Array($0.utf8) }))
    }

    @Test func `names of 0 or 256 bytes, and values that are too large, are refused`() throws {
        for (name, code) in [("", 4), (String(repeating: "x", count: 256), 9)] {
            check(vaultCode { try vault.setString(name, value: "x") }, equals: code)
            check(vaultCode { try vault.setValue(name, value: Data()) }, equals: code)
            check(vaultCode { _ = try vault.getString(name) }, equals: code)
            check(vaultCode { _ = try vault.getValue(name) }, equals: code)
            check(vaultCode { _ = try vault.deleteValue(name) }, equals: code)
        }
        let largest = Data(count: DataVault.valueSizeLimit)
        try vault.setValue("large", value: largest)
        try check(vault.getValue("large"), equals: largest)
        check(vaultCode { try vault.setValue("large", value: largest + [0]) }, equals: 10)
        let text = String(repeating: "é", count: DataVault.valueSizeLimit / 2)
        check(vaultCode { try vault.setString("large", value: text + "x") }, equals: 10)
        try check(vault.getValue("large"), equals: largest)
    }

    @Test func `the methods with Swift-style names do the same`() throws {
        try vault.set("text", for: "a")
        try vault.set(Data([1]), for: "b")
        try check(vault.string(for: "a"), equals: "text")
        try check(vault.data(for: "b"), equals: Data([1]))
        try check(vault.removeValue(for: "a"))
        try check(vault.dataNames, equals: [DVDataName(name: "b", type: .binary)])
    }

    @Test func `values are still there after a lock and an unlock`() throws {
        try vault.setString("name", value: "value")
        vault.lock()
        try vault.unlock(password: "")
        try check(vault.getString("name"), equals: "value")
    }

    @Test func `a locked vault refuses every call on its data`() throws {
        let sealed = try vault.encrypt(Data())
        vault.lock()
        let calls: [(DataVault) throws -> Void] = [
            { try $0.setString("a", value: "b") }, { try $0.setString("a", value: nil) },
            { try $0.setValue("a", value: Data()) }, { _ = try $0.getString("a") },
            { _ = try $0.getValue("a") }, { _ = try $0.deleteValue("a") },
            { _ = try $0.dataNames }, { _ = try $0.encrypt(Data()) },
            { _ = try $0.decrypt(sealed) }, { try $0.changePassword("P4sSw0rD1") },
            { _ = try $0.encryptingStream { _ in } },
            { _ = try $0.decryptingStream { _ in Data() } },
            { try $0.resetLockTimeout() },
        ]
        for call in calls { check(vaultCode { try call(vault) }, equals: 8) }
    }

    @Test func `a missing database is an error, and no new one is created`() throws {
        let databases = try home.databases()
        for url in databases { try FileManager.default.removeItem(at: url) }
        check(vaultCode { _ = try vault.getString("a") }, equals: 6)
        check(vault.isLocked)
        check(vaultCode { try vault.unlock(password: "") }, equals: 6)
        try check(home.databases(), equals: [])
    }
}
