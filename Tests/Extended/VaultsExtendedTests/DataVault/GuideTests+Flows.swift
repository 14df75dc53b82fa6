import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import Vaults
@testable import VaultsTests

extension GuideTests {
    /// "UI flows".
    static let flowRows: [GuideRow] = [
        GuideRow("The DataVault library does not itself contain any UI elements") { _ in
            for (name, source) in try Guide.sources() {
                let imports = #"import (SwiftUI|UIKit|AppKit|WatchKit)"#
                check(source.range(of: imports, options: .regularExpression) == nil, "\(name)")
            }
        },
        GuideRow("Note that the data vault itself does not have any sort of multi-user") { guide in
            let vault = try guide.vault()
            try vault.changePassword(Guide.newPassword)
            vault.lock()
            // There is one password at a time, for all values of the vault.
            check(vaultCode { try vault.unlock(password: Guide.password) }, equals: 5)
            let record = try require(guide.container.records.read(vault.place))
            check(record.keys?.records.count, equals: 1)
        },
        GuideRow("Switching between users in this case simply boils down") { guide in
            for user in ["ada", "bob"] {
                let vault = try guide.vault(user, password: "password of \(user)")
                try vault.setString("token", value: "token of \(user)")
                vault.lock()
            }
            for user in ["ada", "bob", "ada"] {
                let vault = try guide.container.vault(id: user)
                try vault.unlock(password: "password of \(user)")
                try check(vault.getString("token"), equals: "token of \(user)")
                vault.lock()
            }
            let vault = try guide.container.vault(id: "ada")
            check(vaultCode { try vault.unlock(password: "password of bob") }, equals: 5)
        },
        GuideRow("With the sensitive information and the user-specified password") { guide in
            let vault = try guide.container.create(id: "a", password: Guide.password)
            try vault.setString("token", value: "1234")
            vault.lock()
            try vault.unlock(password: Guide.password)
            try check(vault.getString("token"), equals: "1234")
        },
        .waiting("The rule of thumb is that the data vault should be kept unlocked") { guide in
            let vault = try guide.vault()
            let session = DataVaultSession(id: vault.id, in: guide.container)
            check(session.state, equals: .unlocked)
            session.appDidEnterBackground()
            check(vault.isLocked)
            session.appWillEnterForeground()
            check(session.state, equals: .locked(triesLeft: nil))
            try await session.unlock(password: Guide.password)
            check(!vault.isLocked)
        },
        .waiting("What matters is that you catch the user before") { guide in
            let vault = try guide.vault { $0.lockTimeout = 60 }
            try vault.setString("name", value: "value")
            let session = DataVaultSession(id: vault.id, in: guide.container)
            guide.home.clock.advance(by: .seconds(60))
            check(vaultCode { _ = try session.withVault { try $0.getString("name") } }, equals: 8)
            check(session.state, equals: .locked(triesLeft: nil))
            try await session.unlock(password: Guide.password)
            try check(session.withVault { try $0.getString("name") }, equals: "value")
        },
        GuideRow(
            "A data vault will lock itself after a certain period of inactivity",
            butHere: "reading locked, a policy and unlock do it as well"
        ) { guide in
            let vault = try guide.vault { $0.lockTimeout = 60 }
            let calls: [(DataVault) throws -> Void] = [
                { _ = try $0.getString("a") }, { try $0.setString("a", value: "1") },
                { _ = try $0.getValue("a") }, { try $0.setValue("a", value: Data([1])) },
                { _ = try $0.dataNames }, { _ = try $0.deleteValue("absent") },
                { _ = try $0.decrypt($0.encrypt(Data([1]))) },
                { try $0.changePassword(Guide.password) }, { try $0.resetLockTimeout() },
            ]
            for call in calls {
                check(vaultCode { try call(vault) } == nil)
                guide.home.clock.advance(by: .seconds(60))
                check(vaultCode { try call(vault) }, equals: 8)
                check(!guide.isFileOpen())
                try vault.unlock(password: Guide.password)
            }
            let others: [(DataVault) throws -> Bool] = [
                { $0.locked }, { try $0.passwordPolicy.lockTimeout == nil },
                { vault in vaultCode { try vault.unlock(password: Guide.wrongPassword) } == 5 },
            ]
            for call in others {
                check(guide.isFileOpen())
                guide.home.clock.advance(by: .seconds(60))
                let isLockedThere = try call(vault)
                check(isLockedThere)
                check(!guide.isFileOpen())
                try vault.unlock(password: Guide.password)
            }
        },
        GuideRow("Locking after a timeout therefore does not happen automatically") { guide in
            // Uses the real clock: an automatic lock would have had time to happen.
            let container = try DataVaultContainer(
                directory: guide.home.directory, keyStore: guide.home.keyStore()
            ) { QuickPasswordKey(password: $0) }
            var policy = DVPasswordPolicy()
            policy.lockTimeout = 1
            let vault = try container.create(id: "a", password: Guide.password, policy: policy)
            usleep(1_500_000)
            check(guide.isFileOpen())
            check(vault.isLocked)
            check(!guide.isFileOpen())
        },
        GuideRow("If you'd like to see what the current state of the data vault") { guide in
            let vault = try guide.vault { $0.lockTimeout = 60 }
            guide.home.clock.advance(by: .seconds(59))
            check(!vault.locked)
            check(guide.isFileOpen())
            guide.home.clock.advance(by: .seconds(1))
            check(vault.locked)
            check(!guide.isFileOpen())
        },
        GuideRow("The data vault destroys itself if it is attempted to be unlocked") { guide in
            let vault = try guide.vault()
            let error = try guide.destroy(vault) { try $0.unlock(password: Guide.wrongPassword) }
            check(error?.isSelfDestructed, equals: true)
            try check(!guide.container.exists(id: vault.id))
        },
        GuideRow("The application needs to prepare for this event any time") { guide in
            let vault = try guide.vault()
            let error = try guide.destroy(vault) {
                try $0.changePassword(Guide.wrongPassword, newPassword: Guide.newPassword)
            }
            check(error?.isSelfDestructed, equals: true)
            try check(!guide.container.exists(id: vault.id))
        },
        GuideRow("If you'd like, you can keep the encryption key of this database") { guide in
            let (vault, database) = try guide.vaultWithDatabase()
            vault.lock()
            try vault.unlock(password: Guide.password)
            let key = try require(vault.getValue("database key"))
            let db = SecureDatabaseStore(fullDatabasePath: database.path)
            try db.open(with: key)
            try check(db.int(forQuery: "SELECT count(*) FROM t"), equals: 1)
            db.close()
        },
        GuideRow("If the user forgets the data vault password or enters it") { guide in
            let (vault, database) = try guide.vaultWithDatabase()
            let error = try guide.destroy(vault) { try $0.unlock(password: Guide.wrongPassword) }
            check(error?.isSelfDestructed, equals: true)
            // The key no longer exists anywhere, but the file does.
            check(SecureDatabaseStore.exists(at: database))
            check(vaultCode { _ = try vault.getValue("database key") }, equals: 3)
            try check(guide.home.databases(), equals: [])
            let record = try require(guide.container.records.read(vault.place))
            check(record.keys == nil)
        },
        GuideRow(
            "So, you'll have to destroy the secured database as well",
            butHere: "in onDestruction, which is called again after a kill"
        ) { guide in
            let (vault, database) = try guide.vaultWithDatabase()
            guide.container.onDestruction = { destruction in
                guard destruction.isSelfDestructed else { return }
                _ = try SecureDatabaseStore.remove(at: database)
            }
            _ = try guide.destroy(vault) { try $0.unlock(password: Guide.wrongPassword) }
            check(!SecureDatabaseStore.exists(at: database))
        },
        .waiting("Most likely, you'll have to reset the app") { guide in
            let vault = try guide.vault { $0.retryLimit = 1 }
            let session = DataVaultSession(id: vault.id, in: guide.container)
            session.lock()
            await #expect(throws: DataVaultError.self) {
                try await session.unlock(password: Guide.wrongPassword)
            }
            check(session.state, equals: .destroyed)
            try await session.create(password: Guide.newPassword)
            check(session.state, equals: .unlocked)
            try check(session.withVault { try $0.dataNames }, equals: [])
        },
    ]
}

extension Guide {
    /// Creates a vault with the key of a database, and that database.
    fileprivate func vaultWithDatabase() throws -> (DataVault, URL) {
        let vault = try vault()
        let url = home.url.appendingPathComponent("business.db")
        let key = Data(RandomBytes.make(32))
        let db = SecureDatabaseStore(fullDatabasePath: url.path)
        try db.open(with: key)
        try db.executeStatements("CREATE TABLE t (x); INSERT INTO t VALUES (1)")
        db.close()
        try vault.setValue("database key", value: key)
        return (vault, url)
    }
}
