import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import SecureKeys
@testable import Vaults

struct DataVaultPolicyTests {
    typealias Policy = DataVaultPasswordPolicy

    let home: VaultHome
    let container: DataVaultContainer

    init() throws {
        home = try VaultHome()
        container = try home.container()
    }

    @Test func `the defaults match the original's`() {
        let policy = DVPasswordPolicy()
        check(policy.isDefaultPolicy && policy.defaultPasswordAllowed && policy.minLength == 8)
        check(!policy.hasDigits && !policy.hasUpper && !policy.hasLower && !policy.hasSpecial)
        check(policy.expirationDays == 0 && policy.minUniqueChars == 0)
        check(policy.lockTimeout == 0 && policy.retryLimit == 0)
    }

    /// A single rule, with passwords and the error code of each; nil for none.
    struct Rule: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let set: @Sendable (inout Policy) -> Void
        let codes: KeyValuePairs<String, Int?>

        init(
            _ name: String, _ set: @escaping @Sendable (inout Policy) -> Void,
            _ codes: KeyValuePairs<String, Int?>
        ) {
            (testDescription, self.set, self.codes) = (name, set, codes)
        }
    }

    static let rules = [
        Rule("default password", { $0.defaultPasswordAllowed = false }, ["": 50, "abcdefgh": nil]),
        Rule("default password allowed", { $0.minLength = 20 }, ["": nil, "abc": 51]),
        Rule(
            "length", { _ in },
            ["abcdefg": 51, "abcdefgh": nil, "äöüÄÖÜß": 51, "äöüÄÖÜßé": nil, "𝄞𝄞𝄞𝄞": 51]),
        Rule("no length", { $0.minLength = 0 }, ["a": nil, "": nil]),
        Rule("digit", { $0.hasDigits = true }, ["abcdefgh": 52, "abcdefg1": nil, "abcdefg٣": nil]),
        Rule("upper", { $0.hasUpper = true }, ["abcdefgh": 53, "abcdefgH": nil, "abcdefgÉ": nil]),
        Rule("lower", { $0.hasLower = true }, ["ABCDEFGH": 54, "ABCDEFGh": nil, "ABCDEFGé": nil]),
        Rule(
            "special", { $0.hasSpecial = true },
            ["abcdefgh": 55, "abcdefg_": 55, "abcdefg ": 55, "abcdefg.": 55]),
        Rule(
            "unique",
            {
                $0.minUniqueChars = 4
                $0.minLength = 5
            },
            ["aaate": 56, "ababa": 56, "aaord": nil, "\u{0}\u{1}\u{2}\u{3}\u{3}": nil]),
        Rule(
            "order",
            {
                $0.minLength = 3
                $0.hasDigits = true
                $0.hasUpper = true
                $0.hasLower = true
                $0.hasSpecial = true
                $0.minUniqueChars = 9
            },
            [
                "..": 51, "...": 52, "..1": 53, ".A1": 54, "aA1": 55, "aA1#": 56,
                "aA1#bcdef": nil,
            ]),
    ]

    @Test(arguments: rules) func `each rule has its own error`(_ rule: Rule) throws {
        var policy = Policy()
        rule.set(&policy)
        for (number, (password, code)) in rule.codes.enumerated() {
            check(
                vaultCode { try policy.check(password) }, equals: code,
                "\(password.debugDescription)")
            check(
                vaultCode { try policy.check(SecretBytes(utf8: password)) }, equals: code,
                "\(password.debugDescription)")
            let created = vaultCode {
                _ = try container.create(id: "\(number)", password: password, policy: policy)
            }
            check(created, equals: code)
            try check(container.exists(id: "\(number)"), equals: (code == nil))
        }
    }

    @Test(arguments: Array(Policy.specialCharacters))
    func `each special character counts as one`(_ character: Character) throws {
        var policy = Policy()
        policy.hasSpecial = true
        try policy.check("abcdefg\(character)")
    }

    @Test func `bytes that are not text can be a password, too`() throws {
        let password = SecretBytes(copying: [
            0xff, 0xc3, 0x28, 0xf0, 0x9f, 0x80, 0x80, 0x80, 0xed, 97, 98,
        ])
        let vault = try container.create(id: "a", password: password)
        vault.lock()
        check(vaultCode { try vault.unlock(password: "\u{fffd}\u{fffd}(abcdef") }, equals: 5)
        try vault.unlock(password: password)
    }

    @Test func `a password that no longer complies is reported with its rule, and can be changed`()
        throws
    {
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        try vault.setString("name", value: "value")
        vault.lock()
        var policy = try vault.passwordPolicy
        policy.hasSpecial = true
        try vault.setPasswordPolicy(policy)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 55)
        check(vault.isLocked)
        check(
            vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2") },
            equals: 55)
        check(vault.isLocked)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD#")
        try check(vault.getString("name"), equals: "value")
        vault.lock()
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 5)
        try vault.unlock(password: "P4sSw0rD#")
    }

    @Test func `the default password is refused at the next unlock once it is disallowed`() throws {
        let vault = try container.create(id: "a", password: "")
        try check(vault.isDefaultPasswordUsed && vault.defaultPasswordUsed)
        vault.lock()
        var policy = try vault.passwordPolicy
        policy.defaultPasswordAllowed = false
        try vault.setPasswordPolicy(policy)
        check(vaultCode { try vault.unlock(password: "") }, equals: 50)
        check(vaultCode { try vault.changePassword("", newPassword: "") }, equals: 50)
        try vault.changePassword("", newPassword: "P4sSw0rD1")
        try check(!vault.isDefaultPasswordUsed)
    }

    @Test func `a password expires the given number of days after it was set`() throws {
        var policy = Policy()
        policy.expirationDays = 30
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        vault.lock()
        home.date.advance(days: 29.9)
        try vault.unlock(password: "P4sSw0rD1")
        vault.lock()
        home.date.advance(days: 0.2)
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 5)
        check(vaultCode { try vault.unlock(password: "P4sSw0rD1") }, equals: 57)
        check(vault.isLocked)
        // The new password must be different.
        check(
            vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD1") }, equals: 4
        )
        check(vault.isLocked)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD3")
        check(!vault.isLocked)
        home.date.advance(days: 31)
        // An unlocked vault stays unlocked.
        try check(vault.getString("name") == nil)
        check(vaultCode { try vault.changePassword("P4sSw0rD3") }, equals: 4)
        try vault.changePassword("P4sSw0rD2")
        // A password that has not expired may be set again.
        try vault.changePassword("P4sSw0rD2")
        try vault.changePassword("P4sSw0rD2", newPassword: "P4sSw0rD2")
        vault.lock()
        try vault.unlock(password: "P4sSw0rD2")
    }

    @Test func `the default password does not expire`() throws {
        var policy = Policy()
        policy.expirationDays = 1
        let vault = try container.create(id: "a", password: "", policy: policy)
        vault.lock()
        home.date.advance(days: 100)
        try vault.unlock(password: "")
    }

    @Test func `a locked vault hides and keeps its expiry and lock timeout`() throws {
        var policy = Policy()
        (policy.expirationDays, policy.lockTimeout, policy.retryLimit) = (30, 60, 5)
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        try check(vault.passwordPolicy, equals: policy)
        vault.lock()
        var seen = try vault.passwordPolicy
        check(seen.expirationDays == nil && seen.lockTimeout == nil && seen.retryLimit == 5)
        seen.retryLimit = 7
        // The vault is unlocked before the policy is set.
        try vault.unlock(password: "P4sSw0rD1")
        try vault.setPasswordPolicy(seen)
        try check(vault.passwordPolicy.expirationDays, equals: 30)
        try check(vault.passwordPolicy.lockTimeout, equals: 60)
        home.clock.advance(by: .seconds(60))
        check(vault.isLocked)
        seen.lockTimeout = 1
        try vault.setPasswordPolicy(seen)
        try vault.unlock(password: "P4sSw0rD1")
        policy.retryLimit = 7
        try check(vault.passwordPolicy, equals: policy)
    }

    @Test func `numbers out of a rule's range are refused`() throws {
        let vault = try container.create(id: "a", password: "")
        let rules: [@Sendable (inout Policy, Int) -> Void] = [
            { $0.minLength = $1 }, { $0.minUniqueChars = $1 }, { $0.expirationDays = $1 },
            { $0.lockTimeout = $1 }, { $0.retryLimit = $1 },
        ]
        for rule in rules {
            for number in [-1, .min, .max, 1 << 31] {
                var policy = Policy()
                rule(&policy, number)
                check(vaultCode { try vault.setPasswordPolicy(policy) }, equals: 4)
                let created = vaultCode {
                    _ = try container.create(id: "b", password: "", policy: policy)
                }
                check(created, equals: 4)
            }
            var policy = Policy()
            rule(&policy, Int(Int32.max))
            try vault.setPasswordPolicy(policy)
            try check(vault.passwordPolicy, equals: policy)
            try vault.setPasswordPolicy(Policy())
        }
    }

    @Test func `a delay of more than a day is refused, since anyone could set it`() throws {
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        vault.lock()
        var policy = Policy()
        for seconds in [-1, 86_401, .max] {
            policy.retryDelay = seconds
            check(vaultCode { try vault.setPasswordPolicy(policy) }, equals: 4)
        }
        policy.retryDelay = 86_400
        try vault.setPasswordPolicy(policy)
    }

    @Test func `an expired password cannot be set again in another spelling`() throws {
        var policy = Policy()
        policy.expirationDays = 1
        // With a real derivation.
        let container = try DataVaultContainer(
            directory: home.directory, keyStore: home.keyStore(),
            date: { [date = home.date] in date.now }
        ) { PasswordKey($0, parameters: (try? .cheapest) ?? .default) }
        let vault = try container.create(id: "a", password: "p\u{e4}ssword", policy: policy)
        vault.lock()
        home.date.advance(days: 2)
        check(vaultCode { try vault.unlock(password: "p\u{e4}ssword") }, equals: 57)
        for spelling in ["p\u{e4}ssword", "pa\u{308}ssword"] {
            check(
                vaultCode { try vault.changePassword("p\u{e4}ssword", newPassword: spelling) },
                equals: 4)
        }
        try vault.changePassword("p\u{e4}ssword", newPassword: "password")
    }

    @Test func `a policy decodes with missing rules, and what it encodes to`() throws {
        let decoder = JSONDecoder()
        let some = try decoder.decode(
            Policy.self, from: Data(#"{"hasDigits": true, "retryLimit": 10}"#.utf8))
        var expected = Policy()
        expected.hasDigits = true
        expected.retryLimit = 10
        check(some.completed(by: Policy()), equals: expected)
        check(some.expirationDays == nil)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Policy.self, from: Data(#"{"hasDigits": 1.5}"#.utf8))
        }
        expected.retryDelay = 60
        expected.lockTimeout = nil
        expected.expirationDays = 90
        try check(
            decoder.decode(Policy.self, from: JSONEncoder().encode(expected)), equals: expected)
    }

    @Test func `a password of a million characters is checked in a second`() throws {
        let password = String(
            (0..<1_000_000).map { Character(Unicode.Scalar(0x4e00 + $0 % 20_000)!) })
        var policy = Policy()
        policy.minUniqueChars = 20_000
        let start = ThreadTime.now
        try policy.check(password)
        check(ThreadTime.now - start < .seconds(5))
        policy.minUniqueChars = 20_001
        check(vaultCode { try policy.check(password) }, equals: 56)
    }

    @Test func `validatePassword checks without counting a try, locked or not`() throws {
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        for _ in 0...1 {
            check(vaultCode { try vault.validatePassword("short") }, equals: 51)
            try vault.validatePassword("long enough")
            vault.lock()
        }
    }

    @Test func `an edited record is an error, and loosens nothing`() throws {
        var policy = Policy()
        policy.retryLimit = 1
        let vault = try container.create(id: "a", password: "P4sSw0rD1", policy: policy)
        _ = try container.create(id: "b", password: "P4sSw0rD1")
        vault.lock()
        let store = try home.keyStore()
        let record = try store.read("datavault.id.a")
        // Another vault's record under this one's name.
        try store.store(try store.read("datavault.id.b"), forName: "datavault.id.a")
        check(vaultCode { try vault.unlock(password: "wrong password") }, equals: 6)
        check(vaultCode { _ = try vault.passwordPolicy }, equals: 6)
        // The checksum at the end is recomputed each time.
        for index in 0..<record.count - 8 {
            var edited = record.copied
            edited[index] ^= 1
            let bytes = SealedBytes.withChecksum(edited)
            try store.store(SecretBytes(copying: bytes), forName: "datavault.id.a")
            let codes = [
                vaultCode { try vault.unlock(password: "wrong password") },
                vaultCode { try vault.setPasswordPolicy(Policy()) },
            ]
            check(codes, equals: [6, 6], "byte \(index)")
        }
        try store.store(record, forName: "datavault.id.a")
        try vault.unlock(password: "P4sSw0rD1")
    }
}
