import Foundation
import SecureStorage
import Testing
import TestSupport
import VaultsTestKit

@testable import SecureKeys
@testable import Vaults

@Suite(.timeLimit(.minutes(10)))
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
        #expect(policy.isDefaultPolicy && policy.defaultPasswordAllowed && policy.minLength == 8)
        #expect(!policy.hasDigits && !policy.hasUpper && !policy.hasLower && !policy.hasSpecial)
        #expect(policy.expirationDays == 0 && policy.minUniqueChars == 0)
        #expect(policy.lockTimeout == 0 && policy.retryLimit == 0)
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
            #expect(
                vaultCode { try policy.check(password) } == code, "\(password.debugDescription)")
            #expect(
                vaultCode { try policy.check(SecretBytes(utf8: password)) } == code,
                "\(password.debugDescription)")
            let created = vaultCode {
                _ = try container.create(id: "\(number)", password: password, policy: policy)
            }
            #expect(created == code)
            #expect(try container.exists(id: "\(number)") == (code == nil))
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
        #expect(vaultCode { try vault.unlock(password: "\u{fffd}\u{fffd}(abcdef") } == 5)
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
        #expect(vaultCode { try vault.unlock(password: "wrong password") } == 5)
        #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 55)
        #expect(vault.isLocked)
        #expect(vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD2") } == 55)
        #expect(vault.isLocked)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD#")
        #expect(try vault.getString("name") == "value")
        vault.lock()
        #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 5)
        try vault.unlock(password: "P4sSw0rD#")
    }

    @Test func `the default password is refused at the next unlock once it is disallowed`() throws {
        let vault = try container.create(id: "a", password: "")
        #expect(try vault.isDefaultPasswordUsed && vault.defaultPasswordUsed)
        vault.lock()
        var policy = try vault.passwordPolicy
        policy.defaultPasswordAllowed = false
        try vault.setPasswordPolicy(policy)
        #expect(vaultCode { try vault.unlock(password: "") } == 50)
        #expect(vaultCode { try vault.changePassword("", newPassword: "") } == 50)
        try vault.changePassword("", newPassword: "P4sSw0rD1")
        #expect(try !vault.isDefaultPasswordUsed)
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
        #expect(vaultCode { try vault.unlock(password: "wrong password") } == 5)
        #expect(vaultCode { try vault.unlock(password: "P4sSw0rD1") } == 57)
        #expect(vault.isLocked)
        // The new password must be different.
        #expect(vaultCode { try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD1") } == 4)
        #expect(vault.isLocked)
        try vault.changePassword("P4sSw0rD1", newPassword: "P4sSw0rD3")
        #expect(!vault.isLocked)
        home.date.advance(days: 31)
        // An unlocked vault stays unlocked.
        #expect(try vault.getString("name") == nil)
        #expect(vaultCode { try vault.changePassword("P4sSw0rD3") } == 4)
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
        #expect(try vault.passwordPolicy == policy)
        vault.lock()
        var seen = try vault.passwordPolicy
        #expect(seen.expirationDays == nil && seen.lockTimeout == nil && seen.retryLimit == 5)
        seen.retryLimit = 7
        // The vault is unlocked before the policy is set.
        try vault.unlock(password: "P4sSw0rD1")
        try vault.setPasswordPolicy(seen)
        #expect(try vault.passwordPolicy.expirationDays == 30)
        #expect(try vault.passwordPolicy.lockTimeout == 60)
        home.clock.advance(by: .seconds(60))
        #expect(vault.isLocked)
        seen.lockTimeout = 1
        try vault.setPasswordPolicy(seen)
        try vault.unlock(password: "P4sSw0rD1")
        policy.retryLimit = 7
        #expect(try vault.passwordPolicy == policy)
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
                #expect(vaultCode { try vault.setPasswordPolicy(policy) } == 4)
                let created = vaultCode {
                    _ = try container.create(id: "b", password: "", policy: policy)
                }
                #expect(created == 4)
            }
            var policy = Policy()
            rule(&policy, Int(Int32.max))
            try vault.setPasswordPolicy(policy)
            #expect(try vault.passwordPolicy == policy)
            try vault.setPasswordPolicy(Policy())
        }
    }

    @Test func `a delay of more than a day is refused, since anyone could set it`() throws {
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        vault.lock()
        var policy = Policy()
        for seconds in [-1, 86_401, .max] {
            policy.retryDelay = seconds
            #expect(vaultCode { try vault.setPasswordPolicy(policy) } == 4)
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
        #expect(vaultCode { try vault.unlock(password: "p\u{e4}ssword") } == 57)
        for spelling in ["p\u{e4}ssword", "pa\u{308}ssword"] {
            #expect(
                vaultCode { try vault.changePassword("p\u{e4}ssword", newPassword: spelling) } == 4)
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
        #expect(some.completed(by: Policy()) == expected)
        #expect(some.expirationDays == nil)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Policy.self, from: Data(#"{"hasDigits": 1.5}"#.utf8))
        }
        expected.retryDelay = 60
        expected.lockTimeout = nil
        expected.expirationDays = 90
        #expect(try decoder.decode(Policy.self, from: JSONEncoder().encode(expected)) == expected)
    }

    @Test func `a password of a million characters is checked in a second`() throws {
        let password = String(
            (0..<1_000_000).map { Character(Unicode.Scalar(0x4e00 + $0 % 20_000)!) })
        var policy = Policy()
        policy.minUniqueChars = 20_000
        let start = ThreadTime.now
        try policy.check(password)
        #expect(ThreadTime.now - start < .seconds(5))
        policy.minUniqueChars = 20_001
        #expect(vaultCode { try policy.check(password) } == 56)
    }

    @Test func `validatePassword checks without counting a try, locked or not`() throws {
        let vault = try container.create(id: "a", password: "P4sSw0rD1")
        for _ in 0...1 {
            #expect(vaultCode { try vault.validatePassword("short") } == 51)
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
        #expect(vaultCode { try vault.unlock(password: "wrong password") } == 6)
        #expect(vaultCode { _ = try vault.passwordPolicy } == 6)
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
            #expect(codes == [6, 6], "byte \(index)")
        }
        try store.store(record, forName: "datavault.id.a")
        try vault.unlock(password: "P4sSw0rD1")
    }
}
