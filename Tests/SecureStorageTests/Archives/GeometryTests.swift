import Foundation
import SecureStorage
import Testing
import TestSupport

/// Points, sizes and rectangles, which archives store as texts.
struct GeometryTests {
    @Test func `a point, a size and a rectangle with keys survive storage`() throws {
        let database = try TemporaryDatabase()
        let store = SecureKeyValueStore(fullDatabasePath: database.path)
        try store.open(with: TemporaryDatabase.key)
        try store.put(Placed(), forKey: "k")
        let placed: Placed? = try store.get("k")
        check(placed?.point, equals: NSPoint(x: 1, y: -2.5))
        check(placed?.size, equals: NSSize(width: 3, height: 4))
        check(placed?.frame, equals: NSRect(x: 5, y: 6, width: 7, height: 8))
    }
}

final class Placed: NSObject, NSCoding {
    let point: NSPoint
    let size: NSSize
    let frame: NSRect

    override init() {
        point = NSPoint(x: 1, y: -2.5)
        size = NSSize(width: 3, height: 4)
        frame = NSRect(x: 5, y: 6, width: 7, height: 8)
    }

    init?(coder: NSCoder) {
        point = coder.decodePoint(forKey: "point")
        size = coder.decodeSize(forKey: "size")
        frame = coder.decodeRect(forKey: "frame")
    }

    func encode(with coder: NSCoder) {
        coder.encode(point, forKey: "point")
        coder.encode(size, forKey: "size")
        coder.encode(frame, forKey: "frame")
    }
}
