import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import Vaults
@testable import VaultsTests

/// The original's guide, sentence by sentence: each sentence that states a behaviour is a row,
/// quoted by its first words.
///
/// Sentences that give advice or reasons are left out.
struct GuideTests {
    static let rows = lifecycleRows + dataRows + passwordRows + flowRows

    @Test(arguments: rows.filter { !$0.isOfClass })
    func `the vaults do what the guide says`(_ row: GuideRow) async throws {
        try await row.check(Guide(home: VaultHome()))
    }

    #if os(Linux)
        /// Runs in a separate process, because the class methods share one container, and only
        /// where the environment determines its location: elsewhere that is the user's own keychain
        /// and files.
        @Test(arguments: rows.indices.filter { rows[$0].isOfClass })
        func `the class methods do what the guide says`(_ index: Int) async throws {
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
        check(Set(quoted).count, equals: quoted.count)
        for words in quoted {
            check(words.count >= 15, "\(words)")
            // Nor does one row's quotation match the beginning of another's.
            check(quoted.filter { $0.hasPrefix(words) }, equals: [words])
        }
    }
}

/// A sentence of the guide, and a check of what it says.
struct GuideRow: Sendable, CustomTestStringConvertible {
    /// The first words of the sentence.
    let words: String
    /// How this library differs where the guide says otherwise.
    let difference: String?
    /// Whether the sentence is about the class methods.
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

    /// Returns a row whose check has to wait.
    ///
    /// This is not an overload of `init`, because every check would match both.
    static func waiting(
        _ words: String, check: @escaping @Sendable (Guide) async throws -> Void
    ) -> GuideRow {
        GuideRow(words: words, check: check)
    }

    var testDescription: String { words + (difference.map { " — but here: \($0)" } ?? "") }
}

/// The vaults of one row: real ones, except that deriving a password's key costs nothing.
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

    /// Creates an unlocked vault.
    func vault(
        _ id: String = "com.mycompany.myapp.mainvault", password: String = Self.password,
        _ change: (inout DataVaultPasswordPolicy) -> Void = { _ in }
    ) throws -> DataVault {
        var policy = DataVaultPasswordPolicy()
        change(&policy)
        return try container.create(id: id, password: password, policy: policy)
    }

    /// Makes a vault destroy itself, and returns the error of the last try.
    func destroy(_ vault: DataVault, _ call: (DataVault) throws -> Void) throws -> DataVaultError? {
        var policy = try vault.passwordPolicy
        policy.retryLimit = 3
        try vault.setPasswordPolicy(policy)
        vault.lock()
        for _ in 1...2 { check(vaultCode { try call(vault) }, equals: 5) }
        return dataVaultError { try call(vault) }
    }

    /// Creates the vault "shared" in another program, with the class methods.
    func makeVault(asProgram name: String, group: String?, token: String) async {
        await #expect(processExitsWith: .success) {
            [
                path = home.path as String, name = name as String, group = group as String?,
                token = token as String
            ] in
            try Guide.become(name, group, in: path)
            let vault = try DataVault.createVault("shared", password: Guide.password)
            try vault.setString("token", value: token)
        }
    }

    /// Expects another program to find the token in that vault, or no such vault if it is nil.
    func expect(_ token: String?, asProgram name: String, group: String?) async {
        await #expect(processExitsWith: .success) {
            [
                path = home.path as String, name = name as String, group = group as String?,
                token = token as String?
            ] in
            try Guide.become(name, group, in: path)
            try require(DataVault.vaultExists("shared") == (token != nil))
            guard let token else { return }
            let vault = try DataVault.getVault("shared")
            try require(vault.isLocked)
            try vault.unlock(Guide.password)
            try require(vault.getString("token") == token)
        }
    }

    private static func become(_ program: String, _ group: String?, in path: String) throws {
        setenv("XDG_DATA_HOME", path, 1)
        ProcessInfo.processInfo.processName = program
        if let group { try DataVault.setAccessGroup(group) }
    }

    /// Returns whether this process has the database of a vault open.
    func isFileOpen() -> Bool {
        Descriptors.paths.contains {
            $0.contains(home.url.lastPathComponent) && $0.hasSuffix(".vault")
        }
    }

    /// Returns the Swift sources of the module, by path.
    static func sources() throws -> [String: String] {
        let folder = Checkout.file("Sources/Vaults")
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            .filter { $0.hasSuffix(".swift") }
        return try Dictionary(
            uniqueKeysWithValues: names.map {
                ($0, try String(contentsOf: folder.appendingPathComponent($0), encoding: .utf8))
            })
    }

    /// Returns the contents of all files of the vaults and their keys.
    func bytes() throws -> [Data] {
        try FileManager.default.subpathsOfDirectory(atPath: home.path).compactMap {
            try? Data(contentsOf: home.url.appendingPathComponent($0))
        }
    }
}
