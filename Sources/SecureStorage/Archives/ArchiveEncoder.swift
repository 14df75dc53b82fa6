#if !canImport(ObjectiveC)
    internal import Foundation

    /// Makes an archive, and is the coder that `encode(with:)` of its objects is given.
    ///
    /// It stands in for `NSKeyedArchiver`, which on Linux ends the process for an object that cannot be
    /// archived, and writes equal objects once, so that an array of `true` and `1` comes back as
    /// `true` twice. Here the first thing that cannot be archived is kept, and ``archive(_:)`` throws.
    /// The layout is Apple's.
    final class ArchiveEncoder: NSCoder {
        private struct Context {
            var fields: [String: PropertyListValue] = [:]
            var nextUnnamed = 0
        }

        private let isSecure: Bool
        private var entries: [PropertyListValue] = [.string("$null")]
        private var contexts: [Context] = []
        private var failure: (any Error)?
        private var classes: [String: Int] = [:]
        private var texts: [String: Int] = [:]
        // Objects by identity, which they only keep as long as they are there.
        private var places: [ObjectIdentifier: Int] = [:]
        private var retained: [AnyObject] = []

        /// An encoder of one archive.
        ///
        /// - Parameter isSecure: Whether every class has to have secure coding.
        init(isSecure: Bool) { self.isSecure = isSecure }

        /// The archive of an object.
        ///
        /// - Throws: `.typeConversionFailed` if something in it cannot be archived.
        func archive(_ object: Any) throws -> Data {
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
        // As on Linux's archiver, "encoded elsewhere" means before.
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

        // Values without a name and with an Objective-C type.
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

        private func set(_ value: PropertyListValue?, _ key: String?) {
            guard let value, failure == nil, !contexts.isEmpty else { return }
            let last = contexts.count - 1
            if let key {
                contexts[last].fields[key.hasPrefix("$") ? "$" + key : key] = value
            } else {
                contexts[last].fields["$\(contexts[last].nextUnnamed)"] = value
                contexts[last].nextUnnamed += 1
            }
        }

        private func known(_ object: Any?) -> PropertyListValue? {
            guard let object else { return .uid(0) }
            return places[ObjectIdentifier(object as AnyObject)].map { .uid($0) }
        }

        /// The entry of an object, made if need be.
        private func place(_ value: Any?) -> Int {
            guard failure == nil, let value else { return 0 }
            let object = value as AnyObject
            if let known = places[ObjectIdentifier(object)] { return known }
            let type: AnyClass = (object as? NSObject)?.classForCoder ?? Swift.type(of: object)
            guard contexts.count < ArchiveGraph.maximumDepth, let kind = ArchiveClass(type),
                !isSecure || kind.supportsSecureCoding
            else {
                failWithError(SecureStorageError.typeConversionFailed)
                return 0
            }
            if let plain = Self.plainValue(object, of: type) { return place(plain) }
            let uid = entries.count
            entries.append(.null)
            places[ObjectIdentifier(object)] = uid
            retained.append(object)
            contexts.append(Context())
            switch kind {
            case .foundation: encodeFoundation(object)
            case .app: (object as? any NSCoding)?.encode(with: self)
            }
            guard var fields = contexts.popLast()?.fields else { return 0 }
            fields["$class"] = .uid(place(of: kind))
            entries[uid] = .dictionary(fields)
            return uid
        }

        /// The entry of a value that stands for itself: a text has one, however often it occurs.
        private func place(_ plain: PropertyListValue) -> Int {
            if case .string(let text) = plain {
                if let known = texts[text] { return known }
                texts[text] = entries.count
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

        private static func number(_ number: UInt64) -> PropertyListValue {
            Int64(exactly: number).map { .integer($0) } ?? .unsigned(number)
        }

        private static func plainValue(_ object: AnyObject, of type: AnyClass) -> PropertyListValue?
        {
            if type == NSString.self { return (object as? NSString).map { .string($0 as String) } }
            if type == NSData.self { return (object as? NSData).map { .data($0 as Data) } }
            guard type == NSNumber.self, let number = object as? NSNumber else { return nil }
            switch UInt8(bitPattern: number.objCType.pointee) {
            case UInt8(ascii: "c"): return .bool(number.boolValue)
            case UInt8(ascii: "f"), UInt8(ascii: "d"): return .real(number.doubleValue)
            case UInt8(ascii: "Q"): return Self.number(number.uint64Value)
            default: return .integer(number.int64Value)
            }
        }

        private func references(_ objects: [Any]) -> PropertyListValue {
            .array(objects.map { .uid(place($0)) })
        }

        private func encodeFoundation(_ object: AnyObject) {
            switch object {
            case let text as NSMutableString: set(.string(text as String), "NS.string")
            case let data as NSData: set(.data(data as Data), "NS.data")
            case let date as NSDate:
                set(.real(date.timeIntervalSinceReferenceDate), "NS.time")
            case let uuid as NSUUID:
                set(.data(withUnsafeBytes(of: (uuid as UUID).uuid) { Data($0) }), "NS.uuidbytes")
            case let url as NSURL:
                encode(url.baseURL, forKey: "NS.base")
                encode(url.relativeString, forKey: "NS.relative")
            case let array as NSArray: set(references(Array(array)), "NS.objects")
            case let set as NSSet: self.set(references(set.allObjects), "NS.objects")
            case let set as NSOrderedSet:
                for (index, element) in set.enumerated() {
                    encode(element, forKey: "NS.object.\(index)")
                }
            case let dictionary as NSDictionary:
                let pairs = dictionary.map { ($0.key, $0.value) }
                set(references(pairs.map { $0.0 }), "NS.keys")
                set(references(pairs.map { $0.1 }), "NS.objects")
            default: break
            }
        }
    }
#endif
