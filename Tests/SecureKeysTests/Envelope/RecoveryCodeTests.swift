import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

struct RecoveryCodeTests {
    @Test func `a code is three groups of seven characters, without I, L, O or U`() throws {
        var seen: Set<Character> = []
        for _ in 0..<200 {
            let text = Self.text(RecoveryCode.random())
            let groups = text.split(separator: "-", omittingEmptySubsequences: false)
            check(groups.map(\.count), equals: [7, 7, 7])
            seen.formUnion(text)
        }
        check(seen, equals: Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ-"))
    }

    @Test func `codes of 100 random bits do not repeat, and each character is equally likely`() {
        let codes = (0..<2000).map { _ in Self.text(RecoveryCode.random()) }
        check(Set(codes).count, equals: codes.count)
        // 40,000 characters: 1,250 of each expected, five standard deviations are 174.
        let random = codes.map { $0.filter { $0 != "-" }.dropLast() }
        let counts = Dictionary(grouping: random.joined()) { $0 }
        for (character, all) in counts {
            check(abs(all.count - 1250) < 250, "\(character): \(all.count)")
        }
    }

    @Test(arguments: [
        "0123ABC-DEFGHJK-MNPQRSN", "0123abcdefghjkmnpqrsn", " o i 2 3 A BCDEF GHJKM NPQRSN ",
        "Ol23A-BCDEF-GHJKM-NPQRS-N", "OL23A--BCDEF\tGHJKM\r\nNPQRSn\n", "0I23ABCDEFGHJKMNPQRSN",
        "0123A\u{2013}BCDEF\u{2212}GHJKM\u{a0}NPQRSN",
        "\u{feff}0123A\u{2011}BCDEF GHJKM\u{3000}NPQRSN\u{2029}",
    ])
    func `a code is accepted whatever its case, separators and look-alikes`(
        _ typed: String
    ) throws {
        check(Self.text(try RecoveryCode(typed)), equals: "0123ABC-DEFGHJK-MNPQRSN")
    }

    @Test(arguments: [
        "", "-", "0123A-BCDEF-GHJKM-NPQRS", "0123A-BCDEF-GHJKM-NPQRST", "0123A-BCDEF-GHJKM-NPQRUN",
        "0123A_BCDEF_GHJKM_NPQRSN", "0123A-BCDEF-GHJKM-NPQRÉN", "0123A-BCDEF-GHJKM-NPQR\0N",
        "0123A\u{301}BCDEF GHJKM NPQRSN", "0123A-BCDEF-GHJKM-NPQRSNV",
    ])
    func `a typo is distinguished from a wrong code, and not echoed`(_ typed: String) {
        let error = envelopeError { _ = try RecoveryCode(typed) }
        guard case .malformedRecoveryCode = error else {
            Issue.record("\(typed): \(String(describing: error))")
            return
        }
        check(!"\(error as Any)".contains("BCDEF"))
    }

    @Test func `a code that was written down unwraps, however it is typed`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let code = RecoveryCode.random()
        let set = try WrappedKeySet(wrapping: data, with: code)
        let typed = Self.text(code).lowercased().replacing("-", with: " ").replacing("0", with: "o")
            .replacing("1", with: "l")
        try check(
            set.unwrap(with: RecoveryCode(typed)).material.secret(), equals: data.material.secret())
    }

    @Test func `each wrong character and each swap is a typo, not a wrong code`() throws {
        let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")
        var (typos, checked) = (0, 0)
        for _ in 0..<20 {
            let code = Array(Self.text(RecoveryCode.random()).filter { $0 != "-" })
            _ = try RecoveryCode(String(code))
            for place in code.indices {
                var typed = code
                for other in alphabet where other != code[place] {
                    typed[place] = other
                    checked += 1
                    if Self.isTypo(String(typed)) { typos += 1 }
                }
                guard place > 0, code[place] != code[place - 1] else { continue }
                typed = code
                typed.swapAt(place, place - 1)
                checked += 1
                if Self.isTypo(String(typed)) { typos += 1 }
            }
        }
        check(typos, equals: checked)
    }

    private static func isTypo(_ typed: String) -> Bool {
        guard case .malformedRecoveryCode = envelopeError({ _ = try RecoveryCode(typed) }) else {
            return false
        }
        return true
    }

    @Test func `the check character is Crockford's`() throws {
        // Computed in Python, with numbers of 100 bits.
        for (characters, last) in Self.checks {
            let code = try RecoveryCode(characters + last)
            check(Self.text(code).filter { $0 != "-" }, equals: characters + last)
        }
    }

    private static let checks = [
        ("00000000000000000001", "1"),
        ("M9S346Q3D25VT4F5V37E", "Q"),
        ("VMXXQKFBF5KZNWJ47TAN", "S"),
        ("9ZT24MNPZX45HY43KWJR", "4"),
    ]

    @Test func `every character counts`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let set = try WrappedKeySet(
            wrapping: data, with: RecoveryCode("0000000-0000000-0000000"))
        for place in 0..<20 {
            let zeros = String(repeating: "0", count: 20)
            let others = "123456789".compactMap { digit in
                Self.checked(zeros.prefix(place) + "\(digit)" + zeros.dropFirst(place + 1))
            }
            let other = try require(others.first)
            #expect(throws: EnvelopeError.wrongRecoveryCode(name: "recovery code")) {
                try set.unwrap(with: other)
            }
        }
    }

    /// The code with its check character; nil if that is none of the alphabet's.
    private static func checked(_ characters: some StringProtocol) -> RecoveryCode? {
        "0123456789ABCDEFGHJKMNPQRSTVWXYZ".lazy
            .compactMap { try? RecoveryCode("\(characters)\($0)") }.first
    }

    private static func text(_ code: RecoveryCode) -> String {
        code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
