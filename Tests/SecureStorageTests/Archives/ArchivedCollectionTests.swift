import Foundation
import Testing
import TestSupport

@testable import SecureStorage

@Suite struct ArchivedCollectionTests {
    private func encodingError<T: NSCoding>(_ object: T) -> SecureStorageError? {
        storageError { _ = try KeyedArchive.encode(object) }
    }

    @Test func `a collection that contains itself is an error`() {
        let array = NSMutableArray()
        array.add(array)
        let other = NSMutableArray()
        let another = NSMutableArray(object: other)
        other.add(another)
        let dictionary = NSMutableDictionary()
        dictionary.setObject(dictionary, forKey: "itself" as NSString)
        let set = NSMutableSet()
        let inSet = NSMutableArray()
        inSet.add(set)
        set.add(inSet)
        let ordered = NSMutableOrderedSet()
        let inOrdered = NSMutableArray()
        inOrdered.add(ordered)
        ordered.add(inOrdered)
        defer {
            for ring in [array, other, inSet, inOrdered] { ring.removeAllObjects() }
            dictionary.removeAllObjects()
        }

        #expect(encodingError(array) == .typeConversionFailed)
        #expect(encodingError(other) == .typeConversionFailed)
        #expect(encodingError(dictionary) == .typeConversionFailed)
        #expect(encodingError(set) == .typeConversionFailed)
        #expect(encodingError(ordered) == .typeConversionFailed)
        #expect(encodingError(Careless(array)) == .typeConversionFailed)
        #expect(encodingError(Careless(dictionary)) == .typeConversionFailed)
        #expect(encodingError(NSArray(object: ordered)) == .typeConversionFailed)
    }

    @Test func `arrays nested 100,000 deep are an error`() {
        // Mutable, so that they can be taken apart: releasing them all at once needs as much stack.
        var arrays = [NSMutableArray()]
        for _ in 0..<100_000 { arrays.append(NSMutableArray(object: arrays[arrays.count - 1])) }
        defer { for array in arrays { array.removeAllObjects() } }
        #expect(encodingError(arrays[100_000]) == .typeConversionFailed)
        #expect(encodingError(Careless(arrays[100_000])) == .typeConversionFailed)
    }

    @Test func `objects may be nested 64 deep`() throws {
        var array = NSArray(object: "end")
        var chain = Link(nil)
        for _ in 1..<64 {
            array = NSArray(object: array)
            chain = Link(chain)
        }
        #expect(try KeyedArchive.decode(KeyedArchive.encode(array), as: NSArray.self) == array)
        let copy = try KeyedArchive.decode(KeyedArchive.encode(chain), as: Link.self)
        #expect(Array(sequence(first: copy) { $0.next }).count == 64)
        #expect(encodingError(NSArray(object: array)) == .typeConversionFailed)
        #expect(encodingError(Link(chain)) == .typeConversionFailed)
    }

    @Test func `a shared collection is written once`() throws {
        var array = NSArray(object: "shared")
        var dictionary = NSDictionary(object: "shared", forKey: "k" as NSString)
        for _ in 0..<14 {
            array = NSArray(objects: array, array)
            dictionary = NSDictionary(
                objects: [dictionary, dictionary], forKeys: ["a" as NSString, "b" as NSString])
        }
        let archive = try KeyedArchive.encode(array)
        #expect(archive.count < 2_000)
        #expect(try KeyedArchive.encode(dictionary).count < 4_000)
        let copy = try KeyedArchive.decode(archive, as: NSArray.self)
        let mirror = Mirror(reflecting: copy).children.map { $0.value as AnyObject }
        #expect(mirror.count == 2)
        #expect(mirror.first === mirror.last)
    }

    @Test func `sharing with a million paths to one object is an immediate error`() {
        var array = NSArray(object: "shared")
        for _ in 0..<60 { array = NSArray(objects: array, array) }
        let start = ThreadTime.now
        #expect(encodingError(array) == .typeConversionFailed)
        #expect(ThreadTime.now - start < .seconds(1))
    }

    @Test(arguments: ["", "http://["])
    func `a URL that Swift's type does not accept is an error`(_ text: String) throws {
        let url = try #require(NSURL(string: text))
        #expect(encodingError(url) == .typeConversionFailed)
        #expect(encodingError(NSArray(objects: url)) == .typeConversionFailed)
        #expect(encodingError(NSMutableOrderedSet(object: url)) == .typeConversionFailed)
        #expect(encodingError(Careless(NSSet(object: url))) == .typeConversionFailed)
    }

    @Test func `a URL with an empty text has that of its base`() throws {
        let base = try #require(URL(string: "http://example.org/a"))
        let url = try #require(NSURL(string: "", relativeTo: base))
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(NSArray(object: url)), as: NSArray.self)
        #expect(copy == NSArray(object: url))
        #expect((copy.firstObject as? URL)?.absoluteString == "http://example.org/a")
    }

    @Test func `texts that differ only in their bytes stay distinct`() throws {
        let texts = ["\u{e9}", "e\u{301}", "\u{e9}"]
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(NSArray(array: texts)), as: NSArray.self)
        let read = try #require(copy as? [String])
        #expect(read.map { Array($0.utf8) } == texts.map { Array($0.utf8) })

        let shape = Shape()
        shape.texts = ["composed", "decomposed"]
        #expect(
            try KeyedArchive.decode(KeyedArchive.encode(shape), as: Shape.self).texts
                == ["composed", "decomposed"])
    }

    @Test func `points, sizes and rectangles with a key survive`() throws {
        let shape = Shape()
        shape.origin = NSPoint(x: 1.5, y: -2)
        shape.size = NSSize(width: 3, height: 0.25)
        shape.frame = NSRect(x: 1, y: 2, width: 3, height: 4)
        let copy = try KeyedArchive.decode(KeyedArchive.encode(shape), as: Shape.self)
        #expect(copy.origin == shape.origin)
        #expect(copy.size == shape.size)
        #expect(copy.frame == shape.frame)
    }

    @Test func `a decimal number is never rounded`() throws {
        let number = NSDecimalNumber(string: "12345678901234567890.123456789")
        let decimal = try #require(Decimal(string: "0.1"))
        #expect(encodingError(number) == .typeConversionFailed)
        #expect(encodingError(number as NSNumber) == .typeConversionFailed)
        #expect(encodingError(NSArray(object: number)) == .typeConversionFailed)
        #expect(encodingError(NSArray(object: decimal)) == .typeConversionFailed)
        #expect(encodingError(Careless(decimal)) == .typeConversionFailed)
    }

    @Test func `a boxed object of an app survives`() throws {
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(Holder([Plain(7), Plain(8)])), as: Holder.self)
        #expect(copy.items.map { ($0 as? Plain)?.number } == [7, 8])
        let inside = NSArray(object: Plain(9))
        let inner = try KeyedArchive.decode(
            KeyedArchive.encode(Holder([inside])), as: Holder.self)
        #expect((inner.items.first as? [Any])?.first is Plain)
    }
}
