#if !canImport(ObjectiveC)
    internal import Foundation

    /// Builds an archive, and is the coder passed to `encode(with:)` of its objects.
    ///
    /// Replaces `NSKeyedArchiver`, which on Linux ends the process for an object that cannot be
    /// archived, and writes equal objects once, so that `[true, 1]` decodes as `[true, true]`. This
    /// encoder records the first object that cannot be archived, and ``archive(_:as:)`` throws. The
    /// layout is Apple's.
    final class ArchiveEncoder: NSCoder {
        private struct Context {
            var fields: [ByteString: PropertyListValue] = [:]
            var nextUnnamed = 0
        }

        private let isSecure: Bool
        private var entries: [PropertyListValue] = [.string("$null")]
        private var contexts: [Context] = []
        var hashing = HashingCheck()
        private var failure: (any Error)?
        private var classes: [String: Int] = [:]
        private var texts: [ByteString: Int] = [:]
        // Entries by object identity. `retained` keeps the objects alive, so that no identity is
        // reused.
        private var places: [ObjectIdentifier: Int] = [:]
        private var retained: [AnyObject] = []
        // Whether the app's classes may occur. Under a Foundation root they may not: a decoder that
        // requests the root's class cannot name them.
        private var allowsApp = true

        /// Creates an encoder for one archive.
        ///
        /// - Parameter isSecure: Whether every class must support secure coding.
        init(isSecure: Bool) { self.isSecure = isSecure }

        /// Returns the archive of an object.
        ///
        /// - Parameters:
        ///   - object: The object.
        ///   - wanted: The class that a decoder will request.
        /// - Returns: A binary property list.
        /// - Throws: `.typeConversionFailed` if anything in the object cannot be archived.
        func archive(_ object: Any, as wanted: AnyClass) throws -> Data {
            // A boolean has a private class and is archived as a number.
            let wanted: AnyClass = wanted is NSNumber.Type ? NSNumber.self : wanted
            let kind = ArchiveClass(Self.type(of: object as AnyObject))
            guard let kind, kind.isKind(of: [wanted]) else {
                throw SecureStorageError.typeConversionFailed
            }
            if case .foundation = kind { allowsApp = false }
            let root = place(object)
            guard failure == nil else { throw SecureStorageError.typeConversionFailed }
            return BinaryPropertyListWriter.data(
                of: .dictionary([
                    "$version": .integer(100_000), "$archiver": .string("NSKeyedArchiver"),
                    "$top": .dictionary(["root": .uid(root)]), "$objects": .array(entries),
                ]))
        }

        override var allowsKeyedCoding: Bool { true }
        override var requiresSecureCoding: Bool { isSecure }
        override var systemVersion: UInt32 { 2000 }
        override var error: (any Error)? { failure }
        override var decodingFailurePolicy: NSCoder.DecodingFailurePolicy { .setErrorAndReturn }
        override func version(forClassName className: String) -> Int { NSNotFound }
        override func failWithError(_ error: any Error) { if failure == nil { failure = error } }

        override func encode(_ object: Any?) { set(.uid(place(object)), nil) }
        override func encode(_ object: Any?, forKey key: String) { set(.uid(place(object)), key) }
        override func encode(_ data: Data) { encode(data as Any?) }
        override func encodePropertyList(_ propertyList: Any) { encode(propertyList as Any?) }
        // As with Linux's `NSKeyedArchiver`, only an object encoded earlier counts as encoded
        // elsewhere.
        override func encodeConditionalObject(_ object: Any?) { set(known(object), nil) }
        override func encodeConditionalObject(_ object: Any?, forKey key: String) {
            set(known(object), key)
        }
        override func encode(_ value: Bool, forKey key: String) { set(.bool(value), key) }
        override func encode(_ value: Int, forKey key: String) { set(.integer(Int64(value)), key) }
        override func encode(_ value: Int32, forKey key: String) {
            set(.integer(Int64(value)), key)
        }
        override func encode(_ value: Int64, forKey key: String) { set(.integer(value), key) }
        override func encode(_ value: Float, forKey key: String) { set(.real(Double(value)), key) }
        override func encode(_ value: Double, forKey key: String) { set(.real(value), key) }
        override func encodeBytes(_ bytes: UnsafePointer<UInt8>?, length: Int, forKey key: String) {
            let buffer = UnsafeBufferPointer(start: bytes, count: bytes == nil ? 0 : length)
            set(.data(Data(buffer: buffer)), key)
        }

        // Encodes an unnamed value by its Objective-C type.
        override func encodeValue(
            ofObjCType type: UnsafePointer<Int8>, at place: UnsafeRawPointer
        ) {
            switch UInt8(bitPattern: type.pointee) {
            case UInt8(ascii: "@"): encode(place.assumingMemoryBound(to: Any?.self).pointee)
            case UInt8(ascii: "c"): set(.integer(Int64(place.loadUnaligned(as: Int8.self))), nil)
            case UInt8(ascii: "C"): set(.integer(Int64(place.loadUnaligned(as: UInt8.self))), nil)
            case UInt8(ascii: "s"): set(.integer(Int64(place.loadUnaligned(as: Int16.self))), nil)
            case UInt8(ascii: "S"): set(.integer(Int64(place.loadUnaligned(as: UInt16.self))), nil)
            case UInt8(ascii: "i"), UInt8(ascii: "l"):
                set(.integer(Int64(place.loadUnaligned(as: Int32.self))), nil)
            case UInt8(ascii: "I"), UInt8(ascii: "L"):
                set(.integer(Int64(place.loadUnaligned(as: UInt32.self))), nil)
            case UInt8(ascii: "q"): set(.integer(place.loadUnaligned(as: Int64.self)), nil)
            case UInt8(ascii: "Q"): set(Self.number(place.loadUnaligned(as: UInt64.self)), nil)
            case UInt8(ascii: "f"): set(.real(Double(place.loadUnaligned(as: Float.self))), nil)
            case UInt8(ascii: "d"): set(.real(place.loadUnaligned(as: Double.self)), nil)
            case UInt8(ascii: "B"): set(.bool(place.loadUnaligned(as: Bool.self)), nil)
            default: failWithError(SecureStorageError.typeConversionFailed)
            }
        }

        func set(_ value: PropertyListValue?, _ key: String?) {
            guard let value, failure == nil, !contexts.isEmpty else { return }
            let last = contexts.count - 1
            if let key {
                contexts[last].fields[ByteString(key.hasPrefix("$") ? "$" + key : key)] = value
            } else {
                contexts[last].fields[ByteString("$\(contexts[last].nextUnnamed)")] = value
                contexts[last].nextUnnamed += 1
            }
        }

        private func known(_ object: Any?) -> PropertyListValue? {
            guard let object else { return .uid(0) }
            return places[ObjectIdentifier(object as AnyObject)].map { .uid($0) }
        }

        /// Returns the entry index of an object, adding the entry if needed.
        func place(_ value: Any?) -> Int {
            guard failure == nil, let value else { return 0 }
            do { return try placeObject(CollectionContents.unboxed(value as AnyObject)) } catch {
                failWithError(error)
                return 0
            }
        }

        private func placeObject(_ object: AnyObject) throws -> Int {
            if let known = places[ObjectIdentifier(object)] { return known }
            let type: AnyClass = Self.type(of: object)
            guard let kind = ArchiveClass(type), !isSecure || kind.supportsSecureCoding else {
                throw SecureStorageError.typeConversionFailed
            }
            if let plain = try plainValue(object, of: type) { return place(plain) }
            guard contexts.count < ArchiveGraph.maximumDepth else {
                throw SecureStorageError.typeConversionFailed
            }
            let uid = entries.count
            entries.append(.null)
            places[ObjectIdentifier(object)] = uid
            retained.append(object)
            contexts.append(Context())
            switch kind {
            case .foundation: try encodeFoundation(object)
            case .app:
                guard allowsApp else { throw SecureStorageError.typeConversionFailed }
                (object as? any NSCoding)?.encode(with: self)
            }
            guard var fields = contexts.popLast()?.fields else { return 0 }
            fields["$class"] = .uid(place(of: kind))
            entries[uid] = .dictionary(fields)
            return uid
        }

        private static func type(of object: AnyObject) -> AnyClass {
            (object as? NSObject)?.classForCoder ?? Swift.type(of: object)
        }

        /// Adds an entry for a plain value; equal strings share one.
        private func place(_ plain: PropertyListValue) -> Int {
            if case .string(let text) = plain {
                if let known = texts[ByteString(text)] { return known }
                texts[ByteString(text)] = entries.count
            }
            entries.append(plain)
            return entries.count - 1
        }

        private func place(of kind: ArchiveClass) -> Int {
            let names = kind.names
            if let known = classes[names[0]] { return known }
            classes[names[0]] = entries.count
            entries.append(
                .dictionary([
                    "$classname": .string(names[0]), "$classes": .array(names.map { .string($0) }),
                ]))
            return entries.count - 1
        }
    }

    extension ArchiveEncoder {
        /// Writes the fields of a Foundation object.
        ///
        /// Refuses anything that ``ArchiveDecoder`` would refuse.
        func encodeFoundation(_ object: AnyObject) throws {
            switch object {
            case let text as NSMutableString: set(.string(text as String), "NS.string")
            case let data as NSData: set(.data(data as Data), "NS.data")
            case let date as NSDate:
                set(.real(date.timeIntervalSinceReferenceDate), "NS.time")
            case let uuid as NSUUID:
                set(.data(withUnsafeBytes(of: (uuid as UUID).uuid) { Data($0) }), "NS.uuidbytes")
            case let url as NSURL:
                try CollectionContents.check(url)
                encode(url.baseURL, forKey: "NS.base")
                encode(url.relativeString, forKey: "NS.relative")
            case let array as NSArray:
                set(references(try known(CollectionContents.elements(of: array))), "NS.objects")
            case let set as NSSet:
                let elements = try known(CollectionContents.elements(of: set))
                try hashing.check(elements)
                self.set(references(elements), "NS.objects")
            case let set as NSOrderedSet:
                let elements = try known(CollectionContents.elements(of: set))
                try hashing.check(elements)
                for (index, element) in elements.enumerated() {
                    encode(element, forKey: "NS.object.\(index)")
                }
            case let dictionary as NSDictionary:
                let (keys, values) = try known(CollectionContents.pairs(of: dictionary))
                try hashing.check(keys)
                set(references(keys), "NS.keys")
                set(references(values), "NS.objects")
            default: break
            }
        }

        /// Returns the plain value of a string, a number or data, or nil for any other object.
        ///
        /// - Throws: `.typeConversionFailed` for a decimal number: archives have no representation
        ///   of it that the decoder reads, and any other number would lose digits.
        func plainValue(_ object: AnyObject, of type: AnyClass) throws -> PropertyListValue? {
            if type == NSString.self { return (object as? NSString).map { .string($0 as String) } }
            if type == NSData.self { return (object as? NSData).map { .data($0 as Data) } }
            guard type == NSNumber.self, let number = object as? NSNumber else { return nil }
            guard !(number is NSDecimalNumber) else {
                throw SecureStorageError.typeConversionFailed
            }
            // Each boolean is a singleton, and its `objCType` is also that of `Int8`.
            if number === NSNumber(value: number.boolValue) { return .bool(number.boolValue) }
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "f"), UInt8(ascii: "d"): return .real(number.doubleValue)
            case UInt8(ascii: "Q"): return Self.number(number.uint64Value)
            default: return .integer(number.int64Value)
            }
        }

        static func number(_ number: UInt64) -> PropertyListValue {
            Int64(exactly: number).map { .integer($0) } ?? .unsigned(number)
        }

        private func references(_ objects: [AnyObject]) -> PropertyListValue {
            .array(objects.map { .uid(place($0)) })
        }

        private func known<Contents>(_ contents: Contents?) throws -> Contents {
            guard let contents else { throw SecureStorageError.typeConversionFailed }
            return contents
        }
    }
#endif
