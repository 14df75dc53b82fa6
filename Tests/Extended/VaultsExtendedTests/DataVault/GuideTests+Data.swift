import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

extension GuideTests {
    /// "Data access" and "Securing the DataVault".
    static let dataRows: [GuideRow] = [
        GuideRow("A data vault stores key-value pairs.") { guide in
            let vault = try guide.vault()
            for number in 0..<20 { try vault.setString("name \(number)", value: "\(number)") }
            for number in 0..<20 {
                try check(vault.getString("name \(number)"), equals: "\(number)")
            }
            try check(vault.getString("another") == nil)
        },
        GuideRow("A key is a string, a value can be either") { guide in
            let vault = try guide.vault()
            try vault.setString("schlüssel 🔑", value: "grün 🟢")
            try vault.setValue("data", value: Data([0, 255, 0]))
            try check(vault.getString("schlüssel 🔑"), equals: "grün 🟢")
            try check(vault.getValue("data"), equals: Data([0, 255, 0]))
        },
        GuideRow("The corresponding setters and getters are") { guide in
            let vault = try guide.vault()
            try vault.setString("a", value: "1")
            try vault.setValue("b", value: Data([2]))
            vault.lock()
            try vault.unlock(password: Guide.password)
            try check(vault.getString("a"), equals: "1")
            try check(vault.getValue("b"), equals: Data([2]))
        },
        GuideRow("The data vault does not allow you to store nil values") { guide in
            let vault = try guide.vault()
            try vault.setString("a", value: nil)
            try vault.setValue("b", value: nil)
            try check(vault.dataNames, equals: [])
        },
        GuideRow("If you call the setters with nil then it deletes") { guide in
            let vault = try guide.vault()
            for name in ["a", "b"] { try vault.setString(name, value: "value") }
            try vault.setString("a", value: nil)
            // Whatever the type of the stored value.
            try vault.setValue("b", value: nil)
            try check(vault.getString("a") == nil)
            try check(vault.getString("b") == nil)
        },
        GuideRow("Deleting a value can also be done using the deleteValue: method") { guide in
            let vault = try guide.vault()
            try vault.setString("a", value: "value")
            try vault.setValue("b", value: Data([1]))
            try check(vault.deleteValue("a"))
            try check(vault.deleteValue("b"))
            try check(!vault.deleteValue("b"))
            try check(vault.dataNames, equals: [])
        },
        GuideRow("Note that a pair is uniquely addressed by solely the key") { guide in
            let vault = try guide.vault()
            try vault.setString("foo", value: "1")
            try vault.setString("foo", value: "2")
            try check(vault.getString("foo"), equals: "2")
            try check(vault.dataNames.count, equals: 1)
        },
        GuideRow("The type does not matter.") { guide in
            let vault = try guide.vault()
            try vault.setValue("foo", value: Data([1]))
            try vault.setString("foo", value: "now a string")
            try check(vault.dataNames, equals: [DVDataName(name: "foo", type: .string)])
            try check(vault.getString("foo"), equals: "now a string")
        },
        GuideRow(
            "...then the data vault will contain the UTF-8 raw byte representation",
            butHere: "it does, and getString of those bytes is a conversion error"
        ) { guide in
            let vault = try guide.vault()
            try vault.setString("foo", value: "foo123")
            try vault.setValue("foo", value: Data("bar".utf8))
            try check(vault.getValue("foo"), equals: Data("bar".utf8))
            check(vaultCode { _ = try vault.getString("foo") }, equals: 2)
        },
        GuideRow("If you'd like to get a list of keys stored in the vault") { guide in
            let vault = try guide.vault()
            for name in ["b", "a", "c"] { try vault.setString(name, value: "value") }
            let names: [DVDataName] = try vault.dataNames
            check(names.map(\.name), equals: ["a", "b", "c"])
        },
        GuideRow("These contain the stored keys and the type of the data") { guide in
            let vault = try guide.vault()
            try vault.setString("a", value: "value")
            try vault.setValue("b", value: Data("value".utf8))
            try check(vault.dataNames.map(\.type), equals: [.string, .binary])
            try vault.setValue("a", value: Data())
            try check(vault.dataNames.map(\.type), equals: [.binary, .binary])
        },
        GuideRow("The data vault is protected by a password at all times") { guide in
            let vault = try guide.vault(password: "")
            try vault.setString("name", value: "a secret value")
            try check(vault.defaultPasswordUsed)
            vault.lock()
            check(vaultCode { _ = try vault.getString("name") }, equals: 8)
            check(vaultCode { try vault.unlock(password: Guide.wrongPassword) }, equals: 5)
            try check(guide.bytes().allSatisfy { $0.range(of: Data("secret".utf8)) == nil })
            try vault.unlock(password: "")
            try check(vault.getString("name"), equals: "a secret value")
        },
        GuideRow("Protection means that the data vault can be in either") { guide in
            let vault = try guide.vault()
            check(!vault.isLocked)
            vault.lock()
            check(vault.isLocked)
            try vault.unlock(password: Guide.password)
            check(!vault.isLocked)
        },
        GuideRow("In locked state, none of the data accessor methods are usable") { guide in
            let vault = try guide.vault()
            let sealed = try vault.encrypt(Data())
            vault.lock()
            let calls: [(DataVault) throws -> Void] = [
                { _ = try $0.getString("a") }, { _ = try $0.getValue("a") },
                { try $0.setString("a", value: "1") }, { try $0.setValue("a", value: Data()) },
                { try $0.setString("a", value: nil) }, { try $0.setValue("a", value: nil) },
                { try $0.deleteValue("a") }, { _ = try $0.dataNames },
                { _ = try $0.encrypt(Data()) }, { _ = try $0.decrypt(sealed) },
            ]
            for call in calls { check(vaultCode { try call(vault) }, equals: 8) }
            try vault.unlock(password: Guide.password)
            for call in calls { check(vaultCode { try call(vault) } == nil) }
        },
        GuideRow("If you try to read data from or write data to a data vault") { guide in
            let vault = try guide.vault()
            vault.lock()
            #expect(throws: DataVaultException.self) { try vault.getString("a") }
            #expect(throws: DataVaultException.self) { try vault.setString("a", value: "1") }
        },
        GuideRow("The current state of the data vault can be obtained") { guide in
            let vault = try guide.vault()
            check(!vault.locked)
            vault.lock()
            check(vault.locked)
        },
        GuideRow("This tells whether the data vault is currently locked") { guide in
            let vault = try guide.vault()
            // Whichever caller has locked it.
            try guide.container.vault(id: vault.id).lock()
            check(vault.locked)
        },
        GuideRow("Locking the data vault can be done") { guide in
            let vault = try guide.vault()
            try vault.setString("name", value: "value")
            vault.lock()
            check(vaultCode { _ = try vault.getString("name") }, equals: 8)
        },
        GuideRow("This is idempotent and will not cause any harm") { guide in
            let vault = try guide.vault()
            try vault.setString("name", value: "value")
            for _ in 1...10 { vault.lock() }
            try vault.unlock(password: Guide.password)
            try check(vault.getString("name"), equals: "value")
        },
        GuideRow(
            "To unlock, you must use the unlock: method",
            butHere: "of an unlocked vault it does nothing and checks nothing"
        ) { guide in
            let vault = try guide.vault()
            vault.lock()
            for wrong in [Guide.wrongPassword, "", "p4ssw0rd1", Guide.password + " "] {
                check(vaultCode { try vault.unlock(wrong) }, equals: 5)
                check(vault.isLocked)
            }
            try vault.unlock(Guide.password)
            try vault.unlock(Guide.wrongPassword)
            check(!vault.isLocked)
        },
        GuideRow("A speciality of the unlocking mechanism") { guide in
            let vault = try guide.vault()
            try vault.setString("name", value: "value")
            _ = try guide.destroy(vault) { try $0.unlock(password: Guide.wrongPassword) }
            try check(guide.home.databases(), equals: [])
            // The remaining record says why, and contains no key.
            let record = try require(guide.container.records.read(vault.place))
            check(record.state.isSelfDestructed && record.keys == nil)
            check(vaultCode { try vault.unlock(password: Guide.password) }, equals: 3)
            check(vaultCode { _ = try guide.container.vault(id: vault.id) }, equals: 3)
        },
        GuideRow(
            "You can detect this by catching the DataVaultException",
            butHere: "beside the code there is a flag that says why"
        ) { guide in
            let error = try guide.destroy(guide.vault()) {
                try $0.unlock(password: Guide.wrongPassword)
            }
            check(error?.code, equals: 3)
            check(error?.isSelfDestructed, equals: true)
        },
        GuideRow(
            "You'll find overloaded variants of both lifecycle and data vault methods",
            butHere: "there are none: each vault has a salt of the library's own"
        ) { guide in
            let container = try guide.home.realContainer()
            func salt(_ vault: DataVault) throws -> Data {
                let record = try container.records.read(vault.place)
                guard case .password(_, let salt)? = record?.keys?.records.first?.origin else {
                    throw CocoaError(.coderValueNotFound)
                }
                return salt
            }
            let one = try container.create(id: "one", password: Guide.password)
            let other = try container.create(id: "other", password: Guide.password)
            let (first, second) = (try salt(one), try salt(other))
            try one.changePassword(Guide.password)
            let third = try salt(one)
            check(Set([first, second, third]).count, equals: 3)
            check(first.count >= 16)
        },
    ]
}
