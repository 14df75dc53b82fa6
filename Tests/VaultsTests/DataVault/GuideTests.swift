import Foundation
import SecureStorage
import Testing

@testable import Vaults

/// The guide of the original, sentence by sentence: each one that states a behaviour is a row, quoted by its first words.
///
/// Left out are sentences that give advice or reasons, and two more: a vault without the class's own calls, which the
/// compiler refuses, and the calls with a salt, which are deprecated there and do not exist here.
@Suite(.timeLimit(.minutes(10)))
struct GuideTests {
    static let rows = lifecycleRows + dataRows + passwordRows + flowRows

    @Test(arguments: rows.filter { !$0.isOfClass })
    func `the guide says:`(_ row: GuideRow) async throws {
        try await row.check(Guide(home: VaultHome()))
    }

    #if os(Linux)
        /// In a process of its own, since the calls of the class share one container.
        @Test(arguments: rows.indices.filter { rows[$0].isOfClass })
        func `the guide says of the class:`(_ index: Int) async throws {
            let home = try VaultHome()
            await #expect(processExitsWith: .success) {
                [path = home.path as String, index = index as Int] in
                setenv("XDG_DATA_HOME", path, 1)
                let row = GuideTests.rows[index]
                try await row.check(Guide(home: VaultHome(path: path)))
            }
        }
    #endif

    @Test func `every sentence is quoted once`() {
        let quoted = Self.rows.map(\.words)
        #expect(Set(quoted).count == quoted.count)
        for words in quoted {
            #expect(words.count >= 15, "\(words)")
            // Nor does one row's quotation lead to another row's sentence.
            #expect(quoted.filter { $0.hasPrefix(words) } == [words])
        }
    }
}

/// A sentence of the guide and what it says.
struct GuideRow: Sendable, CustomTestStringConvertible {
    /// The first words of the sentence.
    let words: String
    /// What is decided here where the guide says otherwise.
    let difference: String?
    /// Whether it is about the calls of the class.
    let isOfClass: Bool
    let check: @Sendable (Guide) async throws -> Void

    init(
        _ words: String, butHere difference: String? = nil, isOfClass: Bool = false,
        check: @escaping @Sendable (Guide) throws -> Void
    ) {
        self.words = words
        self.difference = difference
        self.isOfClass = isOfClass
        self.check = check
    }

    private init(words: String, check: @escaping @Sendable (Guide) async throws -> Void) {
        self.words = words
        self.check = check
        difference = nil
        isOfClass = false
    }

    /// A row whose check has to wait; not another `init`, since every check would fit both.
    static func waiting(
        _ words: String, check: @escaping @Sendable (Guide) async throws -> Void
    ) -> GuideRow {
        GuideRow(words: words, check: check)
    }

    var testDescription: String { words + (difference.map { " — but here: \($0)" } ?? "") }
}

/// The vaults of one row: the real ones, but that a password costs nothing.
struct Guide: Sendable {
    let home: VaultHome
    let container: DataVaultContainer

    static let password = "P4sSw0rD1"
    static let newPassword = "P4s$w0rD2"
    static let wrongPassword = "wrong password"

    init(home: VaultHome) throws {
        self.home = home
        container = try home.container()
    }

    /// An unlocked vault.
    func vault(
        _ id: String = "com.mycompany.myapp.mainvault", password: String = Self.password,
        _ change: (inout DataVaultPasswordPolicy) -> Void = { _ in }
    ) throws -> DataVault {
        var policy = DataVaultPasswordPolicy()
        change(&policy)
        return try container.create(id: id, password: password, policy: policy)
    }

    /// A vault that has destroyed itself, and the error of the last try.
    func destroy(_ vault: DataVault, _ call: (DataVault) throws -> Void) throws -> DataVaultError? {
        var policy = try vault.passwordPolicy
        policy.retryLimit = 3
        try vault.setPasswordPolicy(policy)
        vault.lock()
        for _ in 1...2 { #expect(vaultCode { try call(vault) } == 5) }
        return dataVaultError { try call(vault) }
    }

    /// What another program sees that shares the container.
    func inAnotherProcess(_ check: String) async {
        await #expect(processExitsWith: .success) {
            [path = home.path as String, check = check as String] in
            let guide = try Guide(home: VaultHome(path: path))
            try #require(try guide.container.exists(id: "shared"))
            let vault = try guide.container.vault(id: "shared")
            try #require(vault.isLocked)
            try vault.unlock(password: Guide.password)
            try #require(try vault.getString("token") == check)
        }
    }

    /// All bytes of all files of the vaults and their keys.
    func bytes() throws -> [Data] {
        try FileManager.default.subpathsOfDirectory(atPath: home.path).compactMap {
            try? Data(contentsOf: home.url.appendingPathComponent($0))
        }
    }
}
