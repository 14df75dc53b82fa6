import Foundation
import SecureStorage
import Testing

@testable import Vaults

@Suite(.timeLimit(.minutes(10)))
struct DataVaultValuesTests {
    let home: VaultHome
    let vault: DataVault

    init() throws {
        home = try VaultHome()
        vault = try home.container().create(id: "a", password: "")
    }

    @Test func `the last value set counts, with its type`() throws {
        try vault.setString("foo", value: "foo123")
        #expect(try vault.dataNames == [DVDataName(name: "foo", type: .string)])
        try vault.setValue("foo", value: Data("bar".utf8))
        #expect(try vault.getValue("foo") == Data("bar".utf8))
        #expect(try vault.dataNames == [DVDataName(name: "foo", type: .binary)])
        try vault.setString("foo", value: "again")
        #expect(try vault.getString("foo") == "again")
        #expect(try vault.dataNames == [DVDataName(name: "foo", type: .string)])
    }

    @Test func `a string can be read as its bytes, but data cannot be read as a string`() throws {
        try vault.setString("string", value: "grün")
        try vault.setValue("data", value: Data("grün".utf8))
        #expect(try vault.getValue("string") == Data("grün".utf8))
        #expect(vaultCode { _ = try vault.getString("data") } == 2)
        #expect(try vault.getString("absent") == nil)
        #expect(try vault.getValue("absent") == nil)
    }

    @Test func `setting nil deletes a value, and so does deleteValue`() throws {
        for name in ["a", "b", "c", "d"] { try vault.setString(name, value: name) }
        try vault.setString("a", value: nil)
        try vault.setValue("b", value: nil)
        #expect(try vault.deleteValue("c"))
        #expect(try !vault.deleteValue("c"))
        #expect(try vault.dataNames.map(\.name) == ["d"])
        try vault.setString("absent", value: nil)
    }

    @Test func `texts, data and names are returned unchanged`() throws {
        let texts = [
            "", "a\0b", "\0", "é", "e\u{301}", "𝄞", String(repeating: "x", count: 100_000),
        ]
        for text in texts {
            try vault.setString("text", value: text)
            let found = try #require(try vault.getString("text"))
            #expect(found.utf8.elementsEqual(text.utf8))
        }
        for data in [Data(), Data([0]), Data(repeating: 0xff, count: 100_000)] {
            try vault.setValue("data", value: data)
            #expect(try vault.getValue("data") == data)
        }
        let names = ["é", "e\u{301}", "a\0b", "../x", "A", "a", String(repeating: "n", count: 255)]
        for name in names { try vault.setString(name, value: name) }
        for name in names {
            #expect(try vault.getString(name)?.utf8.elementsEqual(name.utf8) == true)
        }
        let found = try vault.dataNames.map { Array($0.name.utf8) }
        #expect(Set(found) == Set((names + ["text", "data"]).map { Array($0.utf8) }))
    }

    @Test func `names of 0 or 256 bytes, and values that are too large, are refused`() throws {
        for (name, code) in [("", 4), (String(repeating: "x", count: 256), 9)] {
            #expect(vaultCode { try vault.setString(name, value: "x") } == code)
            #expect(vaultCode { try vault.setValue(name, value: Data()) } == code)
            #expect(vaultCode { _ = try vault.getString(name) } == code)
            #expect(vaultCode { _ = try vault.getValue(name) } == code)
            #expect(vaultCode { _ = try vault.deleteValue(name) } == code)
        }
        let largest = Data(count: DataVault.valueSizeLimit)
        try vault.setValue("large", value: largest)
        #expect(try vault.getValue("large") == largest)
        #expect(vaultCode { try vault.setValue("large", value: largest + [0]) } == 10)
        let text = String(repeating: "é", count: DataVault.valueSizeLimit / 2)
        #expect(vaultCode { try vault.setString("large", value: text + "x") } == 10)
        #expect(try vault.getValue("large") == largest)
    }

    @Test func `the methods with Swift-style names do the same`() throws {
        try vault.set("text", for: "a")
        try vault.set(Data([1]), for: "b")
        #expect(try vault.string(for: "a") == "text")
        #expect(try vault.data(for: "b") == Data([1]))
        #expect(try vault.removeValue(for: "a"))
        #expect(try vault.dataNames == [DVDataName(name: "b", type: .binary)])
    }

    @Test func `values are still there after a lock and an unlock`() throws {
        try vault.setString("name", value: "value")
        vault.lock()
        try vault.unlock(password: "")
        #expect(try vault.getString("name") == "value")
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
        for call in calls { #expect(vaultCode { try call(vault) } == 8) }
    }

    @Test func `a missing database is an error, and no new one is created`() throws {
        let databases = try home.databases()
        for url in databases { try FileManager.default.removeItem(at: url) }
        #expect(vaultCode { _ = try vault.getString("a") } == 6)
        #expect(vault.isLocked)
        #expect(vaultCode { try vault.unlock(password: "") } == 6)
        #expect(try home.databases() == [])
    }
}
