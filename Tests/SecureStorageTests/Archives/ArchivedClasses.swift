import Foundation

// Archives name classes as `Module.Class`: these must be at the top level of a file, and not
// private.

/// An app's class with secure coding.
final class Person: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    let name: String
    let age: Int
    let height: Double
    let isMember: Bool
    let born: Date
    let friend: Person?

    init(_ name: String, age: Int, height: Double, isMember: Bool, born: Date, friend: Person?) {
        self.name = name
        self.age = age
        self.height = height
        self.isMember = isMember
        self.born = born
        self.friend = friend
    }

    init?(coder: NSCoder) {
        guard let name = coder.decodeObject(of: NSString.self, forKey: "name"),
            let born = coder.decodeObject(of: NSDate.self, forKey: "born")
        else { return nil }
        self.name = name as String
        self.born = born as Date
        age = coder.decodeInteger(forKey: "age")
        height = coder.decodeDouble(forKey: "height")
        isMember = coder.decodeBool(forKey: "isMember")
        friend = coder.decodeObject(of: Person.self, forKey: "friend")
    }

    func encode(with coder: NSCoder) {
        coder.encode(name, forKey: "name")
        coder.encode(age, forKey: "age")
        coder.encode(height, forKey: "height")
        coder.encode(isMember, forKey: "isMember")
        coder.encode(born, forKey: "born")
        coder.encode(friend, forKey: "friend")
    }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? Person else { return false }
        return name == other.name && age == other.age && height == other.height
            && isMember == other.isMember && born == other.born && friend == other.friend
    }
    override var hash: Int { name.hashValue }
}

/// An app's class without secure coding, with a value of every kind that a coder has a method for.
class Note: NSObject, NSCoding {
    var title = ""
    var lines: [String] = []
    var next: Note?
    var small: Int32 = 0
    var large: Int64 = 0
    var half: Float = 0
    var bytes = Data()
    var unnamed = ""

    init(_ title: String) { self.title = title }

    required init?(coder: NSCoder) {
        title = coder.decodeObject(forKey: "title") as? String ?? ""
        lines = coder.decodeObject(forKey: "lines") as? [String] ?? []
        next = coder.decodeObject(forKey: "$next") as? Note
        small = coder.decodeInt32(forKey: "small")
        large = coder.decodeInt64(forKey: "large")
        half = coder.decodeFloat(forKey: "half")
        bytes = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } } ?? Data()
        unnamed = coder.decodeObject() as? String ?? ""
        guard coder.containsValue(forKey: "title"), !coder.containsValue(forKey: "none") else {
            return nil
        }
    }

    func encode(with coder: NSCoder) {
        coder.encode(title, forKey: "title")
        coder.encode(lines, forKey: "lines")
        coder.encode(next, forKey: "$next")
        coder.encode(small, forKey: "small")
        coder.encode(large, forKey: "large")
        coder.encode(half, forKey: "half")
        bytes.withUnsafeBytes {
            coder.encodeBytes(
                $0.bindMemory(to: UInt8.self).baseAddress, length: $0.count, forKey: "bytes")
        }
        coder.encode(unnamed)
    }
}

/// A subclass of an archivable class.
final class Reminder: Note {}

/// A class that decodes another class than it encoded.
final class Mistaken: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let inner: Any

    init(_ inner: Any) { self.inner = inner }
    init?(coder: NSCoder) {
        inner = coder.decodeObject(of: NSArray.self, forKey: "inner") ?? NSArray()
    }
    func encode(with coder: NSCoder) { coder.encode(inner, forKey: "inner") }
}

/// A class that claims to be secure but decodes its content without naming a class.
final class Careless: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }
    let inner: Any

    init(_ inner: Any) { self.inner = inner }
    init?(coder: NSCoder) { inner = coder.decodeObject(forKey: "inner") ?? NSNull() }
    func encode(with coder: NSCoder) { coder.encode(inner, forKey: "inner") }
}

/// A container for anything that can be archived.
final class Holder: NSObject, NSCoding {
    let items: [Any]

    init(_ items: [Any]) { self.items = items }
    init?(coder: NSCoder) { items = coder.decodeObject(forKey: "items") as? [Any] ?? [] }
    func encode(with coder: NSCoder) { coder.encode(items, forKey: "items") }
}

/// A subclass of one of Foundation's classes.
final class OwnNull: NSNull, @unchecked Sendable {}

/// A class that claims to be Foundation's array and keeps its elements elsewhere.
final class Misnamed: NSArray {
    override var classForCoder: AnyClass { NSArray.self }
    override var count: Int { 1 }
    override func object(at index: Int) -> Any { "elsewhere" }
}

/// A type that contains an archivable class.
enum Outer {
    final class Nested: NSObject, NSCoding {
        override init() {}
        init?(coder: NSCoder) {}
        func encode(with coder: NSCoder) {}
    }
}

/// A class with Foundation's structures, and with two keys that differ only in their bytes.
final class Shape: NSObject, NSCoding {
    var origin = NSPoint.zero
    var frame = NSRect.zero
    var size = NSSize.zero
    var texts = ["", ""]

    override init() {}
    init?(coder: NSCoder) {
        origin = coder.decodePoint(forKey: "origin")
        frame = coder.decodeRect(forKey: "frame")
        size = coder.decodeSize(forKey: "size")
        texts = ["\u{e9}", "e\u{301}"].map { coder.decodeObject(forKey: $0) as? String ?? "" }
    }
    func encode(with coder: NSCoder) {
        coder.encode(origin, forKey: "origin")
        coder.encode(frame, forKey: "frame")
        coder.encode(size, forKey: "size")
        coder.encode(texts[0], forKey: "\u{e9}")
        coder.encode(texts[1], forKey: "e\u{301}")
    }
}

/// A link of a chain that contains no other objects.
final class Link: NSObject, NSCoding {
    var next: Link?

    init(_ next: Link?) { self.next = next }
    init?(coder: NSCoder) { next = coder.decodeObject(forKey: "next") as? Link }
    func encode(with coder: NSCoder) { coder.encode(next, forKey: "next") }
}

/// A class that is not an `NSObject`, which Foundation's collections box.
final class Plain: NSCoding {
    let number: Int

    init(_ number: Int) { self.number = number }
    init?(coder: NSCoder) { number = coder.decodeInteger(forKey: "number") }
    func encode(with coder: NSCoder) { coder.encode(number, forKey: "number") }
}
