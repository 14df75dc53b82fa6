import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct KeyedArchiveTests {
    private let ada = Person(
        "Ada", age: 36, height: 1.65, isMember: true,
        born: Date(timeIntervalSinceReferenceDate: -1), friend: nil)

    private func bob() -> Person {
        Person(
            "Bob", age: 40, height: 1.8, isMember: false,
            born: Date(timeIntervalSinceReferenceDate: 2), friend: ada)
    }

    /// Checks that the library's decoder and Foundation's both read the encoded object back.
    private func expectRoundTrip<T: NSObject & NSSecureCoding>(
        _ object: T, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let data = try KeyedArchive.encode(object)
        try check(
            KeyedArchive.decode(data, as: T.self), equals: object, sourceLocation: sourceLocation)
        let classes: [AnyClass] = [
            T.self, NSString.self, NSNumber.self, NSArray.self, NSDictionary.self,
        ]
        let theirs = try NSKeyedUnarchiver.unarchivedObject(ofClasses: classes, from: data)
        check(theirs as? T, equals: object, sourceLocation: sourceLocation)
    }

    @Test func `Foundation's values and collections survive`() throws {
        try expectRoundTrip(NSString(string: "Grüße, 世界 𝄞\0."))
        try expectRoundTrip(NSString(string: ""))
        try expectRoundTrip(NSNumber(value: Int64.min))
        try expectRoundTrip(NSNumber(value: 1.5))
        try expectRoundTrip(NSNumber(value: true))
        try expectRoundTrip(NSData(data: Data([0, 1, 255])))
        try expectRoundTrip(NSDate(timeIntervalSinceReferenceDate: 0.25))
        try expectRoundTrip(NSNull())
        try expectRoundTrip(NSUUID())
        try expectRoundTrip(try require(NSURL(string: "https://example.org/a?b#c")))
        try expectRoundTrip(NSArray(array: ["a", 1, ["b"]]))
        try expectRoundTrip(NSMutableArray(array: ["a", "b"]))
        try expectRoundTrip(NSDictionary(dictionary: ["a": 2, "b": ["c": "d"]]))
        try expectRoundTrip(NSMutableDictionary(dictionary: ["a": 2]))
        try expectRoundTrip(NSSet(array: ["a", "b"]))
        try expectRoundTrip(NSOrderedSet(array: ["b", "a"]))
    }

    @Test func `a text that archives use for nil survives`() throws {
        let data = try KeyedArchive.encode(NSString(string: "$null"))
        try check(KeyedArchive.decode(data, as: NSString.self), equals: "$null")
    }

    @Test func `an app's object survives with what it contains`() throws {
        let copy = try KeyedArchive.decode(try KeyedArchive.encode(bob()), as: Person.self)
        check(copy, equals: bob())
        let theirs = try NSKeyedUnarchiver.unarchivedObject(
            ofClass: Person.self, from: try KeyedArchive.encode(bob()))
        check(theirs, equals: bob())
    }

    @Test func `an object without secure coding survives with what it contains`() throws {
        let note = Note("first")
        note.lines = ["a", "b"]
        note.small = .min
        note.large = .max
        note.half = 0.5
        note.bytes = Data([1, 2, 3])
        note.unnamed = "no key"
        note.next = Reminder("second")

        let copy = try KeyedArchive.decode(try KeyedArchive.encode(note), as: Note.self)

        check(copy.title, equals: "first")
        check(copy.lines, equals: ["a", "b"])
        check(copy.small, equals: .min)
        check(copy.large, equals: .max)
        check(copy.half, equals: 0.5)
        check(copy.bytes, equals: Data([1, 2, 3]))
        check(copy.unnamed, equals: "no key")
        check(copy.next is Reminder)
        check(copy.next?.title, equals: "second")
    }

    @Test func `a shared object of an app is created once`() throws {
        let pair = [Note("same")]
        let data = try KeyedArchive.encode(Holder([pair, pair, pair[0], pair[0]]))
        let copies = try KeyedArchive.decode(data, as: Holder.self).items
        check(copies.count, equals: 4)
        let inner = try require(copies[0] as? [Note])
        check(copies[2] as? Note === copies[3] as? Note)
        check(inner.first === copies[2] as? Note)
    }

    @Test func `numbers that equal nothing do no harm in a set`() throws {
        let dates = NSSet(
            array: [Double.nan, .infinity, 1e300].map { Date(timeIntervalSince1970: $0) })
        let numbers = NSSet(array: [Double.nan, -.nan, .infinity, 1e300])
        for set in [dates, numbers] {
            let data = try KeyedArchive.encode(set)
            try check(KeyedArchive.decode(data, as: NSSet.self).count >= 3)
        }
    }

    @Test func `a decoded object is of the requested class or a subclass`() throws {
        let array = try KeyedArchive.encode(NSArray(array: ["a"]))
        let mutable = try KeyedArchive.encode(NSMutableArray(array: ["a"]))
        try check(KeyedArchive.decode(mutable, as: NSArray.self), equals: ["a"])
        #expect(throws: SecureStorageError.typeConversionFailed) {
            _ = try KeyedArchive.decode(array, as: NSMutableArray.self)
        }
        let reminder = try KeyedArchive.encode(Reminder("r"))
        try check(KeyedArchive.decode(reminder, as: Note.self) is Reminder)
        let note = try KeyedArchive.encode(Note("n"))
        #expect(throws: SecureStorageError.typeConversionFailed) {
            _ = try KeyedArchive.decode(note, as: Reminder.self)
        }
    }

    @Test func `a class that was not requested is refused before an object is created`() throws {
        for inner: Any in ["text", NSNumber(value: 1), Date(), ada] {
            let data = try KeyedArchive.encode(Mistaken(inner))
            #expect(throws: SecureStorageError.typeConversionFailed) {
                _ = try KeyedArchive.decode(data, as: Mistaken.self)
            }
        }
        let people = try KeyedArchive.encode(Mistaken([ada]))
        #expect(throws: SecureStorageError.typeConversionFailed) {
            _ = try KeyedArchive.decode(people, as: Mistaken.self)
        }
    }

    @Test func `a secure class reads only property lists without naming a class`() throws {
        let list = try KeyedArchive.encode(Careless(["a": [1, 2]]))
        let inner = try KeyedArchive.decode(list, as: Careless.self).inner
        check(inner as? NSDictionary, equals: ["a": [1, 2]] as NSDictionary)
        for other: Any in [ada, UUID(), [ada]] {
            let data = try KeyedArchive.encode(Careless(other))
            #expect(throws: SecureStorageError.typeConversionFailed) {
                _ = try KeyedArchive.decode(data, as: Careless.self)
            }
        }
    }

    @Test func `an object that could not be read back is not written`() throws {
        var deep = NSArray()
        for _ in 0..<64 { deep = NSArray(object: deep) }
        var chain = Note("end")
        for _ in 0..<64 {
            let next = Note("link")
            next.next = chain
            chain = next
        }
        let ring = Note("ring")
        ring.next = ring
        defer { ring.next = nil }

        check(storageError { _ = try KeyedArchive.encode(deep) }, equals: .typeConversionFailed)
        check(storageError { _ = try KeyedArchive.encode(chain) }, equals: .typeConversionFailed)
        check(storageError { _ = try KeyedArchive.encode(ring) }, equals: .typeConversionFailed)
        check(
            storageError { _ = try KeyedArchive.encode(Outer.Nested()) },
            equals: .typeConversionFailed)
        let nested = NSArray(object: Outer.Nested())
        check(storageError { _ = try KeyedArchive.encode(nested) }, equals: .typeConversionFailed)
        let insecure = Careless(Note("n"))
        check(storageError { _ = try KeyedArchive.encode(insecure) }, equals: .typeConversionFailed)
        let unknown = NSArray(object: NSIndexSet(index: 1))
        check(storageError { _ = try KeyedArchive.encode(unknown) }, equals: .typeConversionFailed)
        let inside = Careless(Outer.Nested())
        check(storageError { _ = try KeyedArchive.encode(inside) }, equals: .typeConversionFailed)
        let noCoding = NSArray(object: NSObject())
        check(storageError { _ = try KeyedArchive.encode(noCoding) }, equals: .typeConversionFailed)
        check(
            storageError { _ = try KeyedArchive.encode(OwnNull()) }, equals: .typeConversionFailed)
    }

    @Test func `equal numbers of several kinds stay distinct in one archive`() throws {
        let numbers = NSArray(array: [NSNumber(value: true), NSNumber(value: 1), 1.0])
        let copy = try KeyedArchive.decode(try KeyedArchive.encode(numbers), as: NSArray.self)
        let kinds = try require(copy as? [NSNumber]).map { String(cString: $0.objCType) }
        // "c" is a Bool; which integer type it is depends on the size of the number.
        check(kinds.first, equals: "c")
        check(["i", "q"].contains(kinds[1]))
        check(kinds.last, equals: "d")
    }
}
