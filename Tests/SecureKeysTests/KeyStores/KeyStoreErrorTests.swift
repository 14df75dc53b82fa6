import Foundation
import SecureKeys
import TestSupport
import Testing

struct KeyStoreErrorTests {
    @Test(arguments: [
        KeyStoreError.notFound(name: "n"), .alreadyExists(name: "n"),
        .unavailable(reason: "r"), .refused(reason: "r"), .damaged(name: "n", reason: "r"),
        .invalidName(reason: "r"),
    ])
    func `each error says what failed in one line, the same in every form`(_ error: KeyStoreError) {
        let text = error.description
        check(text.contains("\"n\"") || text.contains(": r"))
        check(!text.contains("\n") && text.count > 20)
        check(error.errorDescription, equals: text)
        check(error.localizedDescription, equals: text)
        check("\(error as any Error)", equals: text)
    }

    @Test func `control characters in a name are escaped`() {
        let text = KeyStoreError.notFound(name: "a\u{1b}[2J\n\0\u{202e}b").description
        check(text.contains("a\\u{1b}[2J\\u{a}\\u{0}\\u{202e}b"))
    }
}
