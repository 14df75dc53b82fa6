import Foundation
import SecureStorage
import Testing
import TestSupport

@testable import SecureKeys

@Suite(.timeLimit(.minutes(10))) struct RecoveryCodeTests {
    @Test func `a code is four groups of five characters, without I, L, O or U`() throws {
        var seen: Set<Character> = []
        for _ in 0..<200 {
            let text = Self.text(RecoveryCode.random())
            let groups = text.split(separator: "-", omittingEmptySubsequences: false)
            #expect(groups.map(\.count) == [5, 5, 5, 5])
            seen.formUnion(text)
        }
        #expect(seen == Set("0123456789ABCDEFGHJKMNPQRSTVWXYZ-"))
    }

    @Test func `codes of 100 random bits do not repeat, and each character is equally likely`() {
        let codes = (0..<2000).map { _ in Self.text(RecoveryCode.random()) }
        #expect(Set(codes).count == codes.count)
        // 40,000 characters: 1,250 of each expected, five standard deviations are 174.
        let counts = Dictionary(grouping: codes.joined().filter { $0 != "-" }) { $0 }
        for (character, all) in counts {
            #expect(abs(all.count - 1250) < 250, "\(character): \(all.count)")
        }
    }

    @Test(arguments: [
        "0123A-BCDEF-GHJKM-NPQRS", "0123abcdefghjkmnpqrs", " o i 2 3 A BCDEF GHJKM NPQRS ",
        "Ol23A-BCDEF-GHJKM-NPQRS", "OL23A--BCDEF\tGHJKM\r\nNPQRS\n", "0I23ABCDEFGHJKMNPQRS",
    ])
    func `a code is accepted whatever its case, separators and look-alikes`(_ typed: String) throws
    {
        #expect(Self.text(try RecoveryCode(typed)) == "0123A-BCDEF-GHJKM-NPQRS")
    }

    @Test(arguments: [
        "", "-", "0123A-BCDEF-GHJKM-NPQR", "0123A-BCDEF-GHJKM-NPQRST", "0123A-BCDEF-GHJKM-NPQRU",
        "0123A_BCDEF_GHJKM_NPQRS", "0123A-BCDEF-GHJKM-NPQRÉ", "0123A-BCDEF-GHJKM-NPQR\0",
        "0123A\u{2013}BCDEF\u{2013}GHJKM\u{2013}NPQRS",
    ])
    func `a typo is distinguished from a wrong code, and not echoed`(_ typed: String) {
        let error = envelopeError { _ = try RecoveryCode(typed) }
        guard case .malformedRecoveryCode = error else {
            Issue.record("\(typed): \(String(describing: error))")
            return
        }
        #expect(!"\(error as Any)".contains("BCDEF"))
    }

    @Test func `a code that was written down unwraps, however it is typed`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let code = RecoveryCode.random()
        let set = try WrappedKeySet(wrapping: data, with: code)
        let typed = Self.text(code).lowercased().replacing("-", with: " ").replacing("0", with: "o")
            .replacing("1", with: "l")
        #expect(
            try set.unwrap(with: RecoveryCode(typed)).material.secret() == data.material.secret())
    }

    @Test func `every character counts`() throws {
        let data = try DataEncryptionKey.random(name: "data")
        let set = try WrappedKeySet(
            wrapping: data, with: RecoveryCode("00000-00000-00000-00000"))
        for place in 0..<20 {
            let other =
                String(repeating: "0", count: place) + "1"
                + String(repeating: "0", count: 19 - place)
            #expect(throws: EnvelopeError.wrongRecoveryCode(name: "recovery code")) {
                try set.unwrap(with: RecoveryCode(other))
            }
        }
    }

    private static func text(_ code: RecoveryCode) -> String {
        code.formatted.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
