import Foundation
import SecureStorage

/// Reads keyed archives in a key-value store as Foundation's classes and as classes of an app.
struct ArchivesTarget: FuzzTarget {
    private let row: KeyValueRow

    init() throws {
        row = try KeyValueRow("archives")
        Self.setClassNames()
    }

    /// Maps class names of the fixtures in `Tests` to the classes here; Foundation's are found by
    /// name.
    static func setClassNames() {
        for module in ["SecureStorageTests", "Fuzz"] {
            NSKeyedUnarchiver.setClass(Person.self, forClassName: "\(module).Person")
            NSKeyedUnarchiver.setClass(Memo.self, forClassName: "\(module).Note")
            NSKeyedUnarchiver.setClass(Memo.self, forClassName: "\(module).Memo")
        }
    }

    func run(_ input: Data) throws {
        // In a separate buffer: 2 is the kind of archives.
        try row.write(Data(input), kind: 2)
        try read(NSArray.self)
        try read(NSDictionary.self)
        try read(NSSet.self)
        try read(NSOrderedSet.self)
        try read(NSString.self)
        try read(NSMutableString.self)
        try read(NSNumber.self)
        try read(NSData.self)
        try read(NSDate.self)
        try read(NSUUID.self)
        try read(NSURL.self)
        try read(NSNull.self)
        try read(Person.self)
        try read(Memo.self)
        _ = try row.read { try $0.getData(KeyValueRow.key) }
    }

    private func read<T: NSObject & NSCoding>(_ type: T.Type) throws {
        let object: T? = try row.read { try $0.get(KeyValueRow.key, defaultValue: nil) }
        guard let object else { return }
        // A value that can be read need not be storable, but a stored value must be readable.
        guard try row.read({ try $0.put(object, forKey: KeyValueRow.copy) }) != nil else { return }
        let again: T? = try row.read { try $0.get(KeyValueRow.copy) }
        precondition(again != nil, "\(type): what was put cannot be read")
    }
}

/// A class of an app with secure coding.
final class Person: NSObject, NSSecureCoding {
    static var supportsSecureCoding: Bool { true }

    let name: String
    let age: Int
    let height: Double
    let isMember: Bool
    let born: Date
    let friend: Person?

    init(_ name: String, friend: Person? = nil) {
        self.name = name
        self.friend = friend
        age = 36
        height = 1.65
        isMember = true
        born = Date(timeIntervalSince1970: -4_862_160_000)
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
}

/// A class of an app without secure coding, which decodes more kinds of values.
final class Memo: NSObject, NSCoding {
    private let title: String
    private let lines: NSArray
    private let next: Memo?
    private let small: Int32
    private let half: Float
    private let bytes: Data
    private let frame: NSRect

    init(_ title: String, lines: NSArray, next: Memo? = nil) {
        self.title = title
        self.lines = lines
        self.next = next
        small = -1
        half = 0.5
        bytes = Data([0, 1, 255])
        frame = NSRect(x: 1, y: 2, width: 3, height: 4)
    }

    init?(coder: NSCoder) {
        title = coder.decodeObject(forKey: "title") as? String ?? ""
        lines = coder.decodeObject(forKey: "lines") as? NSArray ?? NSArray()
        next = coder.decodeObject(forKey: "next") as? Memo
        small = coder.decodeInt32(forKey: "small")
        half = coder.decodeFloat(forKey: "half")
        bytes = coder.withDecodedUnsafeBytes(forKey: "bytes") { $0.map { Data($0) } } ?? Data()
        frame = coder.decodeRect(forKey: "frame")
    }

    func encode(with coder: NSCoder) {
        coder.encode(title, forKey: "title")
        coder.encode(lines, forKey: "lines")
        coder.encode(next, forKey: "next")
        coder.encode(small, forKey: "small")
        coder.encode(half, forKey: "half")
        bytes.withUnsafeBytes {
            coder.encodeBytes(
                $0.bindMemory(to: UInt8.self).baseAddress, length: $0.count, forKey: "bytes")
        }
        coder.encode(frame, forKey: "frame")
    }
}
