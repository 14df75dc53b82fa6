import Foundation
import SecureStorage
import ExampleSupport
import Testing
import TypedPasswords
import Vaults

@testable import PasswordManager

/// Tests of the example, with a descriptor in place of the terminal.
struct PasswordManagerTests {
    private let home: TemporaryDatabase

    init() throws { home = try TemporaryDatabase() }

    @Test(arguments: [
        ("https://Mail.Example.com/login?x=1", "mail.example.com"), ("example.com", "example.com"),
        (" http://user@example.com:8080 ", "example.com"), ("android://hash@com.app/", "com.app"),
    ])
    func `an address has a domain`(_ address: String, _ domain: String) {
        check(Domain.of(address), equals: domain)
    }

    @Test(arguments: ["", " ", "https://", "a b"]) func `some text is not an address`(
        _ text: String
    ) {
        check(Domain.of(text) == nil)
    }

    @Test func `an export is read with its quoted fields, whatever the order of its columns`()
        throws
    {
        let text = "\u{feff}url,PASSWORD,username\r\nhttps://a.org,\"x,\"\"y\n\",ada\r\nb.org,,\n"
        let read = try CSVFile.credentials(in: text)
        check(read.map(\.account.domain), equals: ["a.org", "b.org"])
        check(read.map(\.account.username), equals: ["ada", ""])
        check(read.map(\.password), equals: [SecretBytes(utf8: "x,\"y\n"), SecretBytes(utf8: "")])
    }

    @Test(arguments: [
        ("", "the file is empty"), ("url,username\n", "no column \"password\""),
        ("url,username,password\na.org,x\n", "line 2 has 2 fields, not 3"),
        ("url,username,password\na.org,x,\"\n\n", "line 2 has a quotation without an end"),
        ("url,username,password\na.org,\"\n\",x\n,x,y\n", "line 4 has no address"),
    ])
    func `a file that is not an export is an error that says why`(_ text: String, _ message: String)
    {
        let failure = #expect(throws: Failure.self) { try CSVFile.credentials(in: text) }
        check(failure?.description.contains(message), equals: true)
    }

    @Test func `accounts are imported, listed without a password and shown with it`() throws {
        let folder = home.directory
        let vault = try SecureVaultFactory.autofill(directory: folder)
            .makeVault(reporter: nil)
        let file = folder.appendingPathComponent("export.csv")
        let rows = (0..<1_000).map { "n,https://s\($0).example.com,user,pw\($0)\n" }.joined()
        try Data(
            ("name,url,username,password\nn,example.com,ada,first\nn,notexample.com,eve,x\n" + rows)
                .utf8
        ).write(to: file)
        func run(_ words: [String], typing lines: String = "") throws {
            try Session(vault: vault, passwords: Self.typing(lines)).run(words)
        }
        try run(["import", file.path])
        try check(vault.accounts(domain: "example.com").count, equals: 1_001)
        try check(vault.accounts(domain: nil).count, equals: 1_002)
        // The same account with another password: it is updated, not duplicated.
        try Data("name,url,username,password\nn,example.com,ada,second\n".utf8).write(to: file)
        try run(["import", file.path])
        try check(vault.accounts(domain: nil).count, equals: 1_002)

        try run(["passwd"], typing: "secret\n")
        try run(["list", "example.com"])
        #expect(throws: SecureVaultError.self) {
            try run(["show", "example.com"], typing: "wrong\n")
        }
        #expect(throws: Failure.self) { try run(["show", "example.com"]) }
        try run(["add", "new.org", "bob"], typing: "secret\nbobs\n")
        let found = try vault.websiteCredentialsFor(domain: "example.com")
        check(found.count, equals: 1_001)
        check(found.first?.password, equals: SecretBytes(utf8: "second"))
        try check(
            vault.websiteCredentialsFor(domain: "new.org").map(\.password),
            equals: [SecretBytes(utf8: "bobs")])
        try run(["lock"])
        #expect(throws: SecureVaultError.self) {
            try vault.websiteCredentialsFor(domain: "new.org")
        }
        for words in [[], ["add"], ["add", "a"], ["show"], ["lock", "x"], ["other"]] {
            #expect(throws: Failure.self) { try run(words) }
        }
        #expect(throws: Failure.self) { try run(["import", folder.path + "/absent"]) }
    }

    @Test func `a backup is restored elsewhere with its code, and an older one only on request`()
        throws
    {
        let folder = home.directory.appendingPathComponent("first")
        let other = home.directory.appendingPathComponent("other")
        let backup = home.directory.path + "/vault.backup"
        let code = RecoveryCode.random()
        let old = SecretBytes(utf8: "old")
        let first = try SecureVaultFactory.autofill(directory: folder)
        let vault = try first.makeVault(reporter: nil)
        let account = WebsiteAccount(domain: "a.org", username: "ada", title: "")
        _ = try vault.storeWebsiteCredentials(
            WebsiteCredentials(account: account, password: SecretBytes(utf8: "pw")))
        try vault.resetL2Password(oldPassword: nil, newPassword: old)
        try vault.makeBackup(at: URL(fileURLWithPath: backup), unlockedBy: code, password: old)
        func restore(_ words: [String], to folder: URL, typing lines: String) throws {
            try Backups.restore(
                words, to: folder, .autofill(directory: folder), Self.typing(lines))
        }
        let typed = code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        try restore([backup], to: other, typing: "\(typed.lowercased())\nnew\n")
        let restored = try SecureVaultFactory.autofill(directory: other)
            .makeVault(reporter: nil)
        try restored.authWith(password: SecretBytes(utf8: "new"))
        try check(
            restored.websiteCredentialsFor(domain: "a.org").map(\.password),
            equals: [SecretBytes(utf8: "pw")])
        // The first vault makes a later backup and stays open.
        try Session(vault: vault, passwords: Self.typing("old\n"))
            .run(["backup", home.directory.path + "/later.backup"])
        func problem(_ words: [String]) -> VaultBackupError? {
            #expect(throws: VaultBackupError.self) {
                try restore(words, to: folder, typing: "\(typed)\nnew\n")
            }
        }
        check(problem([backup]), equals: .olderThanCurrent(backup: 1, current: 2))
        check(
            problem(["--older", backup]),
            equals: .inUse(path: AutofillDatabase.file(in: folder).path))
        for words in [[], ["--older"], [backup, backup]] {
            #expect(throws: Failure.self) { try restore(words, to: folder, typing: "") }
        }
    }

    private static func typing(_ lines: String) throws -> PasswordSource {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("PasswordManagerTests-\(UUID().uuidString)")
        try Data(lines.utf8).write(to: file)
        defer { unlink(file.path) }
        return PasswordSource(descriptor: open(file.path, O_RDONLY | O_CLOEXEC))
    }
}
