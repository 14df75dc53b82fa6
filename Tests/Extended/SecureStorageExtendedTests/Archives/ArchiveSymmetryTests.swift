import Foundation
import Testing
import TestSupport

@testable import SecureStorage
@testable import SecureStorageTests

/// Every object that can be written can be read, wherever it is in an archive.
struct ArchiveSymmetryTests {
    private func values() throws -> [NSObject] {
        let base = try require(URL(string: "http://example.org/a/"))
        return [
            NSString(string: "e\u{301}"), NSMutableString(string: "\u{e9}𝄞\0"), NSString(),
            NSNumber(value: true), NSNumber(value: Int8.min), NSNumber(value: UInt8.max),
            NSNumber(value: Int64.min), NSNumber(value: UInt64.max), NSNumber(value: -0.0),
            NSNumber(value: Float.pi), NSNumber(value: Double.infinity), NSDate(), NSNull(),
            NSDate(timeIntervalSinceReferenceDate: -.infinity), NSUUID(), NSData(),
            NSMutableData(data: Data([0, 255])), NSArray(), NSMutableArray(array: [[], [[]]]),
            NSDictionary(object: NSNull(), forKey: NSNull()), NSMutableDictionary(), NSSet(),
            NSMutableSet(array: [1, "1", Data([1])]), NSOrderedSet(array: ["b", "a"]),
            NSMutableOrderedSet(), try require(NSURL(string: "b?c", relativeTo: base)),
            try require(NSURL(string: "http://example.org/%C3%A9")),
            NSURL(fileURLWithPath: "/a b"),
            NSArray(array: (0..<200).map { [$0] }),
        ]
    }

    private func refused() throws -> [NSObject] {
        [
            NSDecimalNumber(string: "1.5"), try require(NSURL(string: "")),
            try require(NSURL(string: "http://[")), NSIndexSet(index: 1), NSObject(),
            Person("Ada", age: 1, height: 1, isMember: true, born: Date(), friend: nil),
            NSCountedSet(array: [1]), OwnNull(),
            NSSet(array: [NSOrderedSet(array: [1]), NSOrderedSet(array: [2])]), Misnamed(),
        ]
    }

    /// Returns arrays of different lengths, so that they have different hash values.
    private func differentArrays(_ count: Int) -> [NSArray] {
        let nulls = [AnyObject](repeating: NSNull(), count: count)
        return nulls.indices.map { NSArray(objects: nulls, count: $0) }
    }

    private func places(of object: NSObject) -> [any NSCoding] {
        let array = NSArray(object: object)
        return [
            array, NSMutableArray(object: object), NSArray(object: array),
            NSDictionary(objects: [object], forKeys: ["k" as NSString]),
            NSMutableDictionary(objects: [array], forKeys: ["k" as NSString]),
        ]
    }

    private func hashedPlaces(of object: NSObject) -> [any NSCoding] {
        [
            NSSet(object: object), NSMutableSet(object: object), NSOrderedSet(object: object),
            NSMutableOrderedSet(object: object),
        ]
    }

    /// Returns whether two objects are equal.
    ///
    /// On Linux, Foundation's own comparison ends the process if the sets contain arrays.
    private func same(_ left: Any, _ right: Any) -> Bool {
        func same(any left: [AnyObject], _ right: [AnyObject]) -> Bool {
            left.count == right.count
                && (left.count > 10
                    || left.allSatisfy { one in right.contains { self.same(one, $0) } })
        }
        switch (left, right) {
        case (let left as NSSet, let right as NSSet):
            return same(
                any: CollectionContents.elements(of: left) ?? [],
                CollectionContents.elements(of: right) ?? [left])
        case (let left as NSOrderedSet, let right as NSOrderedSet):
            let left = CollectionContents.elements(of: left) ?? []
            let right = CollectionContents.elements(of: right) ?? [NSNull()]
            return left.count == right.count && zip(left, right).allSatisfy { self.same($0, $1) }
        case (let left as NSArray, let right as NSArray):
            let left = CollectionContents.elements(of: left) ?? []
            let right = CollectionContents.elements(of: right) ?? [NSNull()]
            return left.count == right.count && zip(left, right).allSatisfy { self.same($0, $1) }
        case (let left as NSDictionary, let right as NSDictionary):
            guard let left = CollectionContents.pairs(of: left),
                let right = CollectionContents.pairs(of: right)
            else { return false }
            return same(any: left.keys, right.keys) && same(any: left.values, right.values)
        default: return (left as? NSObject)?.isEqual(right) == true
        }
    }

    private func copy<T: NSCoding>(_ object: T) throws -> any NSCoding {
        let data = try KeyedArchive.encode(object)
        return try KeyedArchive.decode(data, as: T.self)
    }

    @Test func `what is accepted is read back equal, wherever it is`() throws {
        for value in try values() {
            let own = try require(value as? any NSCoding)
            for object in (value is NSNumber ? [] : [own]) + places(of: value)
                + hashedPlaces(of: value)
            {
                let place: Comment = "\(value) in \(type(of: object))"
                let read = try? copy(object) as? NSObject
                check(read.map { type(of: $0) == type(of: object) }, equals: true, place)
                check(read.map { same($0, object) }, equals: true, place)
            }
        }
        let sets: [NSSet] = [
            NSSet(array: (0..<1_000).map { [$0] }), NSSet(array: [[[1, [2]]], ["a": [1]]]),
        ]
        for set in sets { try check(same(copy(set), set)) }
        // An array, unlike a set, may have any number of collections.
        let array = NSArray(array: (0..<2_000).map { [$0] })
        try check(same(copy(array), array))
        for number in [NSNumber(value: true), NSNumber(value: Int8(1)), NSNumber(value: 1.5)] {
            let read = try KeyedArchive.decode(KeyedArchive.encode(number), as: NSNumber.self)
            check(read, equals: number)
            check(type(of: read) == type(of: number))
        }
        let keyed = NSDictionary(objects: [1, 2], forKeys: [NSArray(), NSUUID()])
        try check(same(copy(keyed), keyed))
    }

    @Test func `sets of sets of arrays, which Foundation cannot compare, are refused`() {
        let inner = NSSet(object: NSArray())
        let keyed = NSDictionary(object: 1, forKey: NSArray())
        for object in [inner, keyed, NSArray(object: inner), NSArray(object: keyed)] {
            let error = storageError { _ = try copy(NSArray(object: NSSet(object: object))) }
            check(error, equals: .typeConversionFailed)
        }
    }

    @Test func `what could not be read back is refused, wherever it is`() throws {
        // No sets: putting some of these objects in one ends the process.
        for value in try refused() {
            for object in places(of: value) { expectRefusal(of: object, "\(type(of: value))") }
        }
        // Too many collections for a set, in one place only: comparing them takes seconds.
        let arrays = differentArrays(1_001)
        expectRefusal(of: NSArray(object: NSSet(array: arrays)))
        expectRefusal(of: NSDictionary(objects: arrays, forKeys: arrays))
        expectRefusal(of: NSOrderedSet(array: arrays))
        check(storageError { _ = try copy(Misnamed()) }, equals: .typeConversionFailed)
    }

    /// Expects that the encoder refuses the object, not the decoder.
    private func expectRefusal<T: NSCoding>(of object: T, _ part: Comment? = nil) {
        check(
            storageError { _ = try KeyedArchive.encode(object) }, equals: .typeConversionFailed,
            "\(part ?? "") in \(type(of: object))")
    }
}
