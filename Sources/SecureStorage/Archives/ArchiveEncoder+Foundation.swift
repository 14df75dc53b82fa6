#if !canImport(ObjectiveC)
    internal import Foundation

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
