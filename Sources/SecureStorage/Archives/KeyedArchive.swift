internal import Foundation

/// Encodes and decodes `NSCoding` objects as keyed archives in Apple's binary format.
///
/// An archive may come from anywhere: it is validated as a whole before any object is built from
/// it.
enum KeyedArchive {
    /// Whether an archive may only hold objects of the classes that the type requests.
    static func isSecure<T: NSCoding>(_ type: T.Type) -> Bool {
        (type as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
    }

    /// Returns the archive of an object.
    ///
    /// - Parameter object: An object whose class can be found by name. The same applies to all
    ///   objects it contains, and it must not contain itself.
    /// - Returns: A binary property list.
    /// - Throws: `.typeConversionFailed` for an object that could not be decoded again.
    static func encode<T: NSCoding>(_ object: T) throws -> Data {
        let isSecure = isSecure(T.self)
        #if canImport(ObjectiveC)
            let data: Data
            do {
                data = try NSKeyedArchiver.archivedData(
                    withRootObject: object, requiringSecureCoding: isSecure)
            } catch {
                throw SecureStorageError.typeConversionFailed
            }
        #else
            guard let type = T.self as Any as? AnyClass else {
                throw SecureStorageError.typeConversionFailed
            }
            let data = try ArchiveEncoder(isSecure: isSecure).archive(object, as: type)
        #endif
        // Do not write an archive that could not be read.
        _ = try ArchiveGraph(data)
        return data
    }

    /// Decodes the object of an archive.
    ///
    /// - Parameters:
    ///   - data: The output of ``encode(_:)`` or of Apple's `NSKeyedArchiver`, or any other bytes.
    ///   - type: The class of the object or one of its superclasses.
    /// - Returns: The object; only its class determines whether it is mutable.
    /// - Throws: `.typeConversionFailed` if `data` is not an archive of such an object.
    static func decode<T: NSCoding>(_ data: Data, as type: T.Type) throws -> T {
        let graph = try ArchiveGraph(data)
        guard let wanted = type as Any as? AnyClass else {
            throw SecureStorageError.typeConversionFailed
        }
        let isSecure = isSecure(type)
        #if canImport(ObjectiveC)
            _ = graph  // only validated; Foundation reads the data itself
            let decoded = try unarchive(data, wanted: wanted, isSecure: isSecure)
        #else
            let decoded = try ArchiveDecoder(graph, isSecure: isSecure).decodeRoot(of: wanted)
        #endif
        guard let object = decoded as? T else { throw SecureStorageError.typeConversionFailed }
        return object
    }

    #if canImport(ObjectiveC)
        private static func unarchive(
            _ data: Data, wanted: AnyClass, isSecure: Bool
        ) throws -> Any? {
            do {
                let unarchiver = try NSKeyedUnarchiver(forReadingFrom: data)
                unarchiver.decodingFailurePolicy = .setErrorAndReturn
                unarchiver.requiresSecureCoding = isSecure
                defer { unarchiver.finishDecoding() }
                // The elements of a collection are restricted to the same classes.
                let classes: [AnyClass] = [
                    wanted, NSString.self, NSNumber.self, NSData.self, NSDate.self, NSNull.self,
                    NSUUID.self, NSURL.self, NSArray.self, NSDictionary.self, NSSet.self,
                    NSOrderedSet.self,
                ]
                let object =
                    isSecure
                    ? unarchiver.decodeObject(of: classes, forKey: NSKeyedArchiveRootObjectKey)
                    : unarchiver.decodeObject(forKey: NSKeyedArchiveRootObjectKey)
                if let error = unarchiver.error { throw error }
                return object
            } catch {
                throw SecureStorageError.typeConversionFailed
            }
        }
    #endif
}
