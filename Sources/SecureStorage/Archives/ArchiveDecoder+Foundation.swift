#if !canImport(ObjectiveC)
    internal import Foundation

    extension ArchiveDecoder {
        /// Builds a Foundation object from the fields that Foundation writes on Apple platforms and
        /// on Linux.
        func foundationObject(
            _ type: AnyClass, fields: [ByteString: PropertyListValue], allowed: [AnyClass]?
        ) throws -> Any {
            switch type {
            case is NSMutableString.Type: NSMutableString(string: try text(fields))
            case is NSString.Type: NSString(string: try text(fields))
            case is NSMutableData.Type: NSMutableData(data: try data(fields))
            case is NSData.Type: NSData(data: try data(fields))
            case is NSNull.Type: NSNull()
            case is NSDate.Type: try date(fields)
            case is NSUUID.Type: try uuid(fields)
            case is NSURL.Type: try url(fields)
            case is NSMutableArray.Type:
                NSMutableArray(array: try elements(fields, allowed: allowed))
            case is NSArray.Type: NSArray(array: try elements(fields, allowed: allowed))
            case is NSMutableSet.Type: NSMutableSet(array: try keys(fields, allowed: allowed))
            case is NSSet.Type: NSSet(array: try keys(fields, allowed: allowed))
            case is NSMutableOrderedSet.Type:
                NSMutableOrderedSet(array: try keys(fields, allowed: allowed))
            case is NSOrderedSet.Type: NSOrderedSet(array: try keys(fields, allowed: allowed))
            case is NSDictionary.Type: try dictionary(type, fields: fields, allowed: allowed)
            default: throw SecureStorageError.typeConversionFailed
            }
        }

        private func text(_ fields: [ByteString: PropertyListValue]) throws -> String {
            if case .string(let text) = plainValue(fields["NS.string"]) { return text }
            guard case .data(let data) = plainValue(fields["NS.bytes"]),
                let text = String(data: data, encoding: .utf8)
            else { throw SecureStorageError.typeConversionFailed }
            return text
        }

        private func data(_ fields: [ByteString: PropertyListValue]) throws -> Data {
            guard case .data(let data) = plainValue(fields["NS.data"] ?? fields["NS.bytes"]) else {
                throw SecureStorageError.typeConversionFailed
            }
            return data
        }

        private func date(_ fields: [ByteString: PropertyListValue]) throws -> NSDate {
            switch plainValue(fields["NS.time"]) {
            case .real(let time), .date(let time): NSDate(timeIntervalSinceReferenceDate: time)
            case .integer(let time): NSDate(timeIntervalSinceReferenceDate: Double(time))
            default: throw SecureStorageError.typeConversionFailed
            }
        }

        private func uuid(_ fields: [ByteString: PropertyListValue]) throws -> NSUUID {
            guard case .data(let data) = plainValue(fields["NS.uuidbytes"]), data.count == 16 else {
                throw SecureStorageError.typeConversionFailed
            }
            return NSUUID(uuidBytes: Array(data))
        }

        private func url(_ fields: [ByteString: PropertyListValue]) throws -> NSURL {
            guard case .string(let relative) = plainValue(fields["NS.relative"]) else {
                throw SecureStorageError.typeConversionFailed
            }
            let base = object(at: fields["NS.base"], of: [NSURL.self]) as? NSURL
            guard let url = NSURL(string: relative, relativeTo: base.map { $0 as URL }) else {
                throw SecureStorageError.typeConversionFailed
            }
            try CollectionContents.check(url)
            return url
        }

        /// Returns the references of a list, which is stored as one field or as one field per
        /// element.
        private func references(
            _ fields: [ByteString: PropertyListValue], list: String, each: String
        ) throws -> [Int] {
            var values: [PropertyListValue] = []
            if let field = fields[ByteString(list)] {
                guard case .array(let listed) = field else {
                    throw SecureStorageError.typeConversionFailed
                }
                values = listed
            } else {
                while let value = fields[ByteString("\(each).\(values.count)")] {
                    values.append(value)
                }
            }
            return try values.map {
                guard case .uid(let uid) = $0 else { throw SecureStorageError.typeConversionFailed }
                return uid
            }
        }

        private func objects(_ uids: [Int], allowed: [AnyClass]?) throws -> [Any] {
            try uids.map {
                // Foundation's collections cannot hold nil.
                guard let object = try element($0, allowed: allowed) else {
                    throw SecureStorageError.typeConversionFailed
                }
                return object
            }
        }

        private func elements(
            _ fields: [ByteString: PropertyListValue], allowed: [AnyClass]?
        ) throws -> [Any] {
            try objects(
                references(fields, list: "NS.objects", each: "NS.object"), allowed: allowed)
        }

        /// Returns the elements of a set.
        private func keys(
            _ fields: [ByteString: PropertyListValue], allowed: [AnyClass]?
        ) throws -> [Any] {
            let result = try elements(fields, allowed: allowed)
            try hashing.check(result)
            return result
        }

        private func dictionary(
            _ type: AnyClass, fields: [ByteString: PropertyListValue], allowed: [AnyClass]?
        ) throws -> NSDictionary {
            let keys = try references(fields, list: "NS.keys", each: "NS.key")
            let values = try references(fields, list: "NS.objects", each: "NS.object")
            guard keys.count == values.count else { throw SecureStorageError.typeConversionFailed }
            let keyObjects = try objects(keys, allowed: allowed)
            try hashing.check(keyObjects)
            let hashable = keyObjects.compactMap { $0 as? NSObject }
            let valueObjects = try objects(values, allowed: allowed)
            guard hashable.count == valueObjects.count else {
                throw SecureStorageError.typeConversionFailed
            }
            return type is NSMutableDictionary.Type
                ? NSMutableDictionary(objects: valueObjects, forKeys: hashable)
                : NSDictionary(objects: valueObjects, forKeys: hashable)
        }
    }
#endif
