import Foundation
import Testing
import TestSupport

@testable import SecureStorage

struct ArchivedCollectionTests {
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

        check(encodingError(array), equals: .typeConversionFailed)
        check(encodingError(other), equals: .typeConversionFailed)
        check(encodingError(dictionary), equals: .typeConversionFailed)
        check(encodingError(set), equals: .typeConversionFailed)
        check(encodingError(ordered), equals: .typeConversionFailed)
        check(encodingError(Careless(array)), equals: .typeConversionFailed)
        check(encodingError(Careless(dictionary)), equals: .typeConversionFailed)
        check(encodingError(NSArray(object: ordered)), equals: .typeConversionFailed)
    }

    @Test func `arrays nested 100,000 deep are an error`() {
        // Mutable, so that they can be taken apart: releasing them all at once needs as much stack.
        var arrays = [NSMutableArray()]
        for _ in 0..<100_000 { arrays.append(NSMutableArray(object: arrays[arrays.count - 1])) }
        defer { for array in arrays { array.removeAllObjects() } }
        check(encodingError(arrays[100_000]), equals: .typeConversionFailed)
        check(encodingError(Careless(arrays[100_000])), equals: .typeConversionFailed)
    }

    @Test func `objects may be nested 64 deep`() throws {
        var array = NSArray(object: "end")
        var chain = Link(nil)
        for _ in 1..<64 {
            array = NSArray(object: array)
            chain = Link(chain)
        }
        try check(KeyedArchive.decode(KeyedArchive.encode(array), as: NSArray.self), equals: array)
        let copy = try KeyedArchive.decode(KeyedArchive.encode(chain), as: Link.self)
        check(Array(sequence(first: copy) { $0.next }).count, equals: 64)
        check(encodingError(NSArray(object: array)), equals: .typeConversionFailed)
        check(encodingError(Link(chain)), equals: .typeConversionFailed)
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
        check(archive.count < 2_000)
        try check(KeyedArchive.encode(dictionary).count < 4_000)
        let copy = try KeyedArchive.decode(archive, as: NSArray.self)
        let mirror = Mirror(reflecting: copy).children.map { $0.value as AnyObject }
        check(mirror.count, equals: 2)
        check(mirror.first === mirror.last)
    }

    @Test func `sharing with a million paths to one object is an immediate error`() {
        var array = NSArray(object: "shared")
        for _ in 0..<60 { array = NSArray(objects: array, array) }
        let start = ThreadTime.now
        check(encodingError(array), equals: .typeConversionFailed)
        check(ThreadTime.now - start < .seconds(1))
    }

    @Test(arguments: ["", "http://["])
    func `a URL that Swift's type does not accept is an error`(_ text: String) throws {
        let url = try require(NSURL(string: text))
        check(encodingError(url), equals: .typeConversionFailed)
        check(encodingError(NSArray(objects: url)), equals: .typeConversionFailed)
        check(encodingError(NSMutableOrderedSet(object: url)), equals: .typeConversionFailed)
        check(encodingError(Careless(NSSet(object: url))), equals: .typeConversionFailed)
    }

    @Test func `a URL with an empty text has that of its base`() throws {
        let base = try require(URL(string: "http://example.org/a"))
        let url = try require(NSURL(string: "", relativeTo: base))
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(NSArray(object: url)), as: NSArray.self)
        check(copy, equals: NSArray(object: url))
        check((copy.firstObject as? URL)?.absoluteString, equals: "http://example.org/a")
    }

    @Test func `texts that differ only in their bytes stay distinct`() throws {
        let texts = ["\u{e9}", "e\u{301}", "\u{e9}"]
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(NSArray(array: texts)), as: NSArray.self)
        let read = try require(copy as? [String])
        check(read.map { Array($0.utf8) }, equals: texts.map { Array($0.utf8) })

        let shape = Shape()
        shape.texts = ["composed", "decomposed"]
        try check(
            KeyedArchive.decode(KeyedArchive.encode(shape), as: Shape.self).texts,
            equals: ["composed", "decomposed"])
    }

    @Test func `points, sizes and rectangles with a key survive`() throws {
        let shape = Shape()
        shape.origin = NSPoint(x: 1.5, y: -2)
        shape.size = NSSize(width: 3, height: 0.25)
        shape.frame = NSRect(x: 1, y: 2, width: 3, height: 4)
        let copy = try KeyedArchive.decode(KeyedArchive.encode(shape), as: Shape.self)
        check(copy.origin, equals: shape.origin)
        check(copy.size, equals: shape.size)
        check(copy.frame, equals: shape.frame)
    }

    @Test func `a decimal number is never rounded`() throws {
        let number = NSDecimalNumber(string: "12345678901234567890.123456789")
        let decimal = try require(Decimal(string: "0.1"))
        check(encodingError(number), equals: .typeConversionFailed)
        check(encodingError(number as NSNumber), equals: .typeConversionFailed)
        check(encodingError(NSArray(object: number)), equals: .typeConversionFailed)
        check(encodingError(NSArray(object: decimal)), equals: .typeConversionFailed)
        check(encodingError(Careless(decimal)), equals: .typeConversionFailed)
    }

    @Test func `a boxed object of an app survives`() throws {
        let copy = try KeyedArchive.decode(
            KeyedArchive.encode(Holder([Plain(7), Plain(8)])), as: Holder.self)
        check(copy.items.map { ($0 as? Plain)?.number }, equals: [7, 8])
        let inside = NSArray(object: Plain(9))
        let inner = try KeyedArchive.decode(
            KeyedArchive.encode(Holder([inside])), as: Holder.self)
        check((inner.items.first as? [Any])?.first is Plain)
    }
}
