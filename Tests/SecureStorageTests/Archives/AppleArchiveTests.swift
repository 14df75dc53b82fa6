import Foundation
import Testing

@testable import SecureStorage

@Suite struct AppleArchiveTests {
    private func decode<T: NSCoding>(_ name: String, as type: T.Type) throws -> T {
        try KeyedArchive.decode(try ArchiveFixture.data(name), as: type)
    }

    @Test func `a string as the root object is read`() throws {
        #expect(try decode("good-string.plist", as: NSString.self) == "Grüße, 世界 𝄞")
    }

    @Test func `numbers keep their kinds`() throws {
        let numbers = try decode("good-numbers.plist", as: NSArray.self)
        #expect(
            numbers as? [NSNumber] == [
                NSNumber(value: true), 42, -7, 1.5, NSNumber(value: UInt64(1) << 63 + 5),
            ])
        let kinds = try #require(numbers as? [NSNumber]).map { String(cString: $0.objCType) }
        #expect(kinds.first == "c")
        #expect(kinds[3] == "d")
    }

    @Test func `a dictionary of everything is read`() throws {
        let all = try decode("good-dictionary.plist", as: NSDictionary.self)
        #expect(all["text"] as? String == "plain")
        #expect(all["mutable"] as? String == "soft")
        #expect(all["data"] as? Data == Data([0, 1]))
        #expect(all["mutable data"] as? Data == Data([2]))
        #expect(all["date"] as? Date == Date(timeIntervalSinceReferenceDate: 86_400.5))
        #expect(all["null"] is NSNull)
        #expect((all["uuid"] as? UUID)?.uuidString == "00010203-0405-0607-0809-0A0B0C0D0E0F")
        let url = try #require(all["url"] as? URL)
        #expect(url.absoluteString == "https://example.org/a/b?c")
        #expect(all["array"] as? NSArray == ["x", 1])
        #expect(all["set"] as? Set<String> == ["in set"])
        #expect(all["ordered"] as? NSOrderedSet == NSOrderedSet(array: ["first", "second"]))
        #expect(all["inner"] as? [String: String] == ["k": "v"])
        #expect(all.count == 12)
    }

    @Test func `an app's object is read`() throws {
        let person = try decode("good-person.plist", as: Person.self)
        #expect(person.name == "Bob")
        #expect(person.friend?.name == "Ada")
        #expect(person.friend?.height == 1.65)
        #expect(person.friend?.isMember == true)
        #expect(person.friend?.friend == nil)
    }

    @Test func `a shared object is read`() throws {
        var inner: Any = try decode("good-shared.plist", as: NSArray.self)
        for _ in 0..<10 {
            let array = try #require(inner as? NSArray)
            #expect(array.count == 2)
            inner = array.object(at: 1)
        }
        #expect(inner as? String == "shared")
    }
}
