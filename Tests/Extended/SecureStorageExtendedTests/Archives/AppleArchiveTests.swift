import Foundation
import TestSupport
import Testing

@testable import SecureStorage
@testable import SecureStorageTests

struct AppleArchiveTests {
    private func decode<T: NSCoding>(_ name: String, as type: T.Type) throws -> T {
        try KeyedArchive.decode(try ArchiveFixture.data(name), as: type)
    }

    @Test func `a string as the root object is read`() throws {
        try check(decode("good-string.plist", as: NSString.self), equals: "Grüße, 世界 𝄞")
    }

    @Test func `numbers keep their kinds`() throws {
        let numbers = try decode("good-numbers.plist", as: NSArray.self)
        check(
            numbers as? [NSNumber],
            equals: [
                NSNumber(value: true), 42, -7, 1.5, NSNumber(value: UInt64(1) << 63 + 5),
            ])
        let kinds = try require(numbers as? [NSNumber]).map { String(cString: $0.objCType) }
        check(kinds.first, equals: "c")
        check(kinds[3], equals: "d")
    }

    @Test func `a dictionary of everything is read`() throws {
        let all = try decode("good-dictionary.plist", as: NSDictionary.self)
        check(all["text"] as? String, equals: "plain")
        check(all["mutable"] as? String, equals: "soft")
        check(all["data"] as? Data, equals: Data([0, 1]))
        check(all["mutable data"] as? Data, equals: Data([2]))
        check(all["date"] as? Date, equals: Date(timeIntervalSinceReferenceDate: 86_400.5))
        check(all["null"] is NSNull)
        check((all["uuid"] as? UUID)?.uuidString, equals: "00010203-0405-0607-0809-0A0B0C0D0E0F")
        let url = try require(all["url"] as? URL)
        check(url.absoluteString, equals: "https://example.org/a/b?c")
        check(all["array"] as? NSArray, equals: ["x", 1])
        check(all["set"] as? Set<String>, equals: ["in set"])
        check(all["ordered"] as? NSOrderedSet, equals: NSOrderedSet(array: ["first", "second"]))
        check(all["inner"] as? [String: String], equals: ["k": "v"])
        check(all.count, equals: 12)
    }

    @Test func `an app's object is read`() throws {
        let person = try decode("good-person.plist", as: Person.self)
        check(person.name, equals: "Bob")
        check(person.friend?.name, equals: "Ada")
        check(person.friend?.height, equals: 1.65)
        check(person.friend?.isMember, equals: true)
        check(person.friend?.friend == nil)
    }

    @Test func `a shared object is read`() throws {
        var inner: Any = try decode("good-shared.plist", as: NSArray.self)
        for _ in 0..<10 {
            let array = try require(inner as? NSArray)
            check(array.count, equals: 2)
            inner = array.object(at: 1)
        }
        check(inner as? String, equals: "shared")
    }
}
