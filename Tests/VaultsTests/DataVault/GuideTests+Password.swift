import Foundation
import SecureStorage
import Testing
import VaultsTestKit

@testable import Vaults

extension GuideTests {
    /// "Password management".
    static let passwordRows: [GuideRow] = [
        GuideRow("How the password is managed and how it affects the behaviour") { guide in
            let vault = try guide.vault { $0.minLength = 9 }
            #expect(try vault.passwordPolicy.minLength == 9)
            #expect(vaultCode { try vault.changePassword("P4sSw0rD") } == 51)
            #expect(vaultCode { try vault.validatePassword("P4sSw0rD") } == 51)
            #expect(DVPasswordPolicy().isDefaultPolicy)
        },
        GuideRow("The allowed set of characters in the password") { guide in
            let rules: [((inout DVPasswordPolicy) -> Void, broken: String, Int)] = [
                ({ $0.hasDigits = true }, "PassWord", 52), ({ $0.hasUpper = true }, "passw0rd", 53),
                ({ $0.hasLower = true }, "PASSW0RD", 54),
                ({ $0.hasSpecial = true }, "P4ssw0rd", 55),
                ({ $0.minUniqueChars = 4 }, "aaabbbccc", 56),
            ]
            for (change, broken, code) in rules {
                var policy = DVPasswordPolicy()
                change(&policy)
                #expect(vaultCode { try policy.check(broken) } == code)
                #expect(vaultCode { try policy.check("P4s$w0rD") } == nil)
                let made = vaultCode {
                    _ = try guide.container.create(id: "a", password: broken, policy: policy)
                }
                #expect(made == code)
            }
            let exists = try guide.container.exists(id: "a")
            #expect(!exists)
        },
        GuideRow("Length constraints that the password must meet") { guide in
            #expect(vaultCode { _ = try guide.vault(password: "1234567") } == 51)
            #expect(vaultCode { _ = try guide.vault(password: "12345678") } == nil)
        },
        GuideRow("Whether the use of the default password") { guide in
            let make: () throws -> Void = {
                _ = try guide.vault(password: "") { $0.defaultPasswordAllowed = false }
            }
            #expect(vaultCode(make) == 50)
            // Where it is allowed, no other rule applies to it.
            let vault = try guide.vault(password: "") { $0.hasDigits = true }
            #expect(try vault.isDefaultPasswordUsed)
        },
        GuideRow("How soon does the password expire (in days)") { guide in
            let vault = try guide.vault { $0.expirationDays = 30 }
            vault.lock()
            guide.home.date.advance(days: 29.9)
            try vault.unlock(password: Guide.password)
            vault.lock()
            guide.home.date.advance(days: 0.2)
            #expect(vaultCode { try vault.unlock(password: Guide.password) } == 57)
            #expect(vault.isLocked)
            try vault.changePassword(Guide.password, newPassword: Guide.newPassword)
            vault.lock()
            try vault.unlock(password: Guide.newPassword)
        },
        GuideRow("What's the longest time of inactivity after which") { guide in
            let vault = try guide.vault { $0.lockTimeout = 60 }
            guide.home.clock.advance(by: .seconds(59))
            #expect(!vault.isLocked)
            _ = try vault.getString("name")
            guide.home.clock.advance(by: .seconds(59))
            #expect(!vault.isLocked)
            guide.home.clock.advance(by: .seconds(1))
            #expect(vault.isLocked)
        },
        GuideRow(
            "To set the password policy, update the passwordPolicy property",
            butHere:
                "it is setPasswordPolicy, which can throw; and what a locked vault hides is nil"
        ) { guide in
            let vault = try guide.vault {
                $0.expirationDays = 30
                $0.lockTimeout = 60
            }
            vault.lock()
            var policy = try vault.passwordPolicy
            // The limitations: these two can be neither read nor set.
            #expect(policy.expirationDays == nil && policy.lockTimeout == nil)
            policy.hasDigits = true
            policy.expirationDays = 1
            try vault.setPasswordPolicy(policy)
            #expect(try vault.passwordPolicy.hasDigits)
            try vault.unlock(password: Guide.password)
            policy = try vault.passwordPolicy
            #expect(policy.expirationDays == 30 && policy.lockTimeout == 60)
        },
        GuideRow("To change the password, use the changePassword:") { guide in
            let vault = try guide.vault()
            try vault.setString("name", value: "value")
            try vault.changePassword(Guide.newPassword)
            vault.lock()
            #expect(vaultCode { try vault.unlock(password: Guide.password) } == 5)
            try vault.unlock(password: Guide.newPassword)
            #expect(try vault.getString("name") == "value")
        },
        GuideRow("These come in two forms: one which takes only") { guide in
            let vault = try guide.vault()
            try vault.changePassword(Guide.newPassword)
            try vault.changePassword(Guide.newPassword, newPassword: Guide.password)
            vault.lock()
            try vault.unlock(password: Guide.password)
        },
        GuideRow("The first one can be used only if the data vault is unlocked") { guide in
            let vault = try guide.vault()
            vault.lock()
            #expect(vaultCode { try vault.changePassword(Guide.newPassword) } == 8)
            try vault.unlock(password: Guide.password)
        },
        GuideRow("The second one is a shorthand for an unlock") { guide in
            let vault = try guide.vault()
            vault.lock()
            #expect(
                vaultCode {
                    try vault.changePassword(Guide.wrongPassword, newPassword: Guide.newPassword)
                } == 5)
            #expect(vault.isLocked)
            try vault.changePassword(Guide.password, newPassword: Guide.newPassword)
            #expect(!vault.isLocked)
            vault.lock()
            try vault.unlock(password: Guide.newPassword)
        },
        GuideRow("The key thing is that the data vault always enforces") { guide in
            let vault = try guide.vault { $0.hasDigits = true }
            #expect(vaultCode { try vault.changePassword("PassWordX") } == 52)
            #expect(
                vaultCode { try vault.changePassword(Guide.password, newPassword: "PassWordX") }
                    == 52)
            #expect(vaultCode { _ = try guide.vault("b", password: "short") } == 51)
            vault.lock()
            try vault.unlock(password: Guide.password)
        },
        GuideRow("This is done as soon as possible") { guide in
            let vault = try guide.vault()
            var policy = try vault.passwordPolicy
            policy.hasSpecial = true
            try vault.setPasswordPolicy(policy)
            // The password itself is unknown until the user enters it.
            #expect(!vault.isLocked)
            vault.lock()
            #expect(vaultCode { try vault.unlock(password: Guide.password) } == 55)
        },
        GuideRow("The data vault is locked and encrypted with the password") { guide in
            let vault = try guide.vault()
            vault.lock()
            #expect(vault.isLocked)
            #expect(vaultCode { try vault.unlock(password: Guide.newPassword) } == 5)
            try vault.unlock(password: "P4sSw0rD1")
        },
        GuideRow("The password policy is changed using passwordPolicy and now") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(try vault.passwordPolicy.hasSpecial)
            for special in "~!@#$%^&*()-+" {
                #expect(vaultCode { try vault.validatePassword("P4sSw0rD\(special)") } == nil)
            }
            #expect(vaultCode { try vault.validatePassword("P4sSw0rD_") } == 55)
        },
        GuideRow("At this moment, the currently set password does not adhere") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(vaultCode { try vault.validatePassword("P4sSw0rD1") } == 55)
        },
        GuideRow("The next time the data vault is unlocked using P4sSw0rD1") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            let error = dataVaultError { try vault.unlock(password: "P4sSw0rD1") }
            #expect(error?.isPolicyViolation == true)
            #expect(error?.brokenRule == .special)
            #expect(vault.isLocked)
            // The password is not wrong: it costs no try, and a wrong one is reported as such.
            #expect(vaultCode { try vault.unlock(password: Guide.wrongPassword) } == 5)
        },
        GuideRow("This yields a DataVaultException thrown by unlock:") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(throws: DataVaultException.self) { try vault.unlock("P4sSw0rD1") }
        },
        .waiting("The application needs to catch this exception") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 55)
            let session = DataVaultSession(id: vault.id, in: guide.container)
            await #expect(throws: DataVaultError.self) {
                try await session.unlock(password: "P4sSw0rD1")
            }
            #expect(session.state == .passwordViolates(.special, triesLeft: nil))
        },
        GuideRow("After the new password has been entered") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 55)
            try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD-2")
            #expect(try vault.getString("name") == "value")
            vault.lock()
            try vault.unlock(password: "P4sSw0rD-2")
        },
    ]
}

extension Guide {
    /// Creates the vault of the guide's example, after its second step.
    fileprivate func lockedVaultThatNeedsSpecial() throws -> DataVault {
        let vault = try vault(password: "P4sSw0rD1")
        try vault.setString("name", value: "value")
        vault.lock()
        var policy = try vault.passwordPolicy
        policy.hasSpecial = true
        try vault.setPasswordPolicy(policy)
        return vault
    }
}
