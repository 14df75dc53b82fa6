import Foundation
import SecureStorage
import TestSupport
import Testing
import VaultsTestKit

@testable import Vaults
@testable import VaultsTests

extension GuideTests {
    /// "Password management".
    static let passwordRows: [GuideRow] = [
        GuideRow("How the password is managed and how it affects the behaviour") { guide in
            let vault = try guide.vault { $0.minLength = 9 }
            try check(vault.passwordPolicy.minLength, equals: 9)
            check(vaultCode { try vault.changePassword("P4sSw0rD") }, equals: 51)
            check(vaultCode { try vault.validatePassword("P4sSw0rD") }, equals: 51)
            check(DVPasswordPolicy().isDefaultPolicy)
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
                check(vaultCode { try policy.check(broken) }, equals: code)
                check(vaultCode { try policy.check("P4s$w0rD") } == nil)
                let made = vaultCode {
                    _ = try guide.container.create(id: "a", password: broken, policy: policy)
                }
                check(made, equals: code)
            }
            let exists = try guide.container.exists(id: "a")
            check(!exists)
        },
        GuideRow("Length constraints that the password must meet") { guide in
            check(vaultCode { _ = try guide.vault(password: "1234567") }, equals: 51)
            check(vaultCode { _ = try guide.vault(password: "12345678") } == nil)
        },
        GuideRow("Whether the use of the default password") { guide in
            let make: () throws -> Void = {
                _ = try guide.vault(password: "") { $0.defaultPasswordAllowed = false }
            }
            check(vaultCode(make), equals: 50)
            // Where it is allowed, no other rule applies to it.
            let vault = try guide.vault(password: "") { $0.hasDigits = true }
            try check(vault.isDefaultPasswordUsed)
        },
        GuideRow("How soon does the password expire (in days)") { guide in
            let vault = try guide.vault { $0.expirationDays = 30 }
            vault.lock()
            guide.home.date.advance(days: 29.9)
            try vault.unlock(password: Guide.password)
            vault.lock()
            guide.home.date.advance(days: 0.2)
            check(vaultCode { try vault.unlock(password: Guide.password) }, equals: 57)
            check(vault.isLocked)
            try vault.changePassword(Guide.password, newPassword: Guide.newPassword)
            vault.lock()
            try vault.unlock(password: Guide.newPassword)
        },
        GuideRow("What's the longest time of inactivity after which") { guide in
            let vault = try guide.vault { $0.lockTimeout = 60 }
            guide.home.clock.advance(by: .seconds(59))
            check(!vault.isLocked)
            _ = try vault.getString("name")
            guide.home.clock.advance(by: .seconds(59))
            check(!vault.isLocked)
            guide.home.clock.advance(by: .seconds(1))
            check(vault.isLocked)
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
            check(policy.expirationDays == nil && policy.lockTimeout == nil)
            policy.hasDigits = true
            policy.expirationDays = 1
            try vault.setPasswordPolicy(policy)
            try check(vault.passwordPolicy.hasDigits)
            try vault.unlock(password: Guide.password)
            policy = try vault.passwordPolicy
            check(policy.expirationDays == 30 && policy.lockTimeout == 60)
        },
        GuideRow("To change the password, use the changePassword:") { guide in
            let vault = try guide.vault()
            try vault.setString("name", value: "value")
            try vault.changePassword(Guide.newPassword)
            vault.lock()
            check(vaultCode { try vault.unlock(password: Guide.password) }, equals: 5)
            try vault.unlock(password: Guide.newPassword)
            try check(vault.getString("name"), equals: "value")
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
            check(vaultCode { try vault.changePassword(Guide.newPassword) }, equals: 8)
            try vault.unlock(password: Guide.password)
        },
        GuideRow("The second one is a shorthand for an unlock") { guide in
            let vault = try guide.vault()
            vault.lock()
            check(
                vaultCode {
                    try vault.changePassword(Guide.wrongPassword, newPassword: Guide.newPassword)
                }, equals: 5)
            check(vault.isLocked)
            try vault.changePassword(Guide.password, newPassword: Guide.newPassword)
            check(!vault.isLocked)
            vault.lock()
            try vault.unlock(password: Guide.newPassword)
        },
        GuideRow("The key thing is that the data vault always enforces") { guide in
            let vault = try guide.vault { $0.hasDigits = true }
            check(vaultCode { try vault.changePassword("PassWordX") }, equals: 52)
            check(
                vaultCode { try vault.changePassword(Guide.password, newPassword: "PassWordX") },
                equals: 52)
            check(vaultCode { _ = try guide.vault("b", password: "short") }, equals: 51)
            vault.lock()
            try vault.unlock(password: Guide.password)
        },
        GuideRow("This is done as soon as possible") { guide in
            let vault = try guide.vault()
            var policy = try vault.passwordPolicy
            policy.hasSpecial = true
            try vault.setPasswordPolicy(policy)
            // The password itself is unknown until the user enters it.
            check(!vault.isLocked)
            vault.lock()
            check(vaultCode { try vault.unlock(password: Guide.password) }, equals: 55)
        },
        GuideRow("The data vault is locked and encrypted with the password") { guide in
            let vault = try guide.vault()
            vault.lock()
            check(vault.isLocked)
            check(vaultCode { try vault.unlock(password: Guide.newPassword) }, equals: 5)
            try vault.unlock(password: "P4sSw0rD1")
        },
        GuideRow("The password policy is changed using passwordPolicy and now") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            try check(vault.passwordPolicy.hasSpecial)
            for special in "~!@#$%^&*()-+" {
                check(vaultCode { try vault.validatePassword("P4sSw0rD\(special)") } == nil)
            }
            check(vaultCode { try vault.validatePassword("P4sSw0rD_") }, equals: 55)
        },
        GuideRow("At this moment, the currently set password does not adhere") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            check(vaultCode { try vault.validatePassword("P4sSw0rD1") }, equals: 55)
        },
        GuideRow("The next time the data vault is unlocked using P4sSw0rD1") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            let error = dataVaultError { try vault.unlock(password: "P4sSw0rD1") }
            check(error?.isPolicyViolation, equals: true)
            check(error?.brokenRule, equals: .special)
            check(vault.isLocked)
            // The password is not wrong: it costs no try, and a wrong one is reported as such.
            check(vaultCode { try vault.unlock(password: Guide.wrongPassword) }, equals: 5)
        },
        GuideRow("This yields a DataVaultException thrown by unlock:") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            #expect(throws: DataVaultException.self) { try vault.unlock("P4sSw0rD1") }
        },
        .waiting("The application needs to catch this exception") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 55)
            let session = DataVaultSession(id: vault.id, in: guide.container)
            await #expect(throws: DataVaultError.self) {
                try await session.unlock(password: "P4sSw0rD1")
            }
            check(session.state, equals: .passwordViolates(.special, triesLeft: nil))
        },
        GuideRow("After the new password has been entered") { guide in
            let vault = try guide.lockedVaultThatNeedsSpecial()
            check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 55)
            try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD-2")
            try check(vault.getString("name"), equals: "value")
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
