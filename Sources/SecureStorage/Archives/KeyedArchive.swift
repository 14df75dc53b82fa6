internal import Foundation

/// Objects with `NSCoding` as keyed archives, in Apple's binary format.
///
/// An archive may come from anywhere: it is checked as a whole before an object is made from it.
enum KeyedArchive {
    /// The archive of an object.
    ///
    /// - Parameter object: An object of a class that can be found by its name. What it contains
    ///   must be of such classes as well, and not contain itself.
    /// - Returns: A binary property list.
    /// - Throws: `.typeConversionFailed` for an object that could not be read back.
    static func encode<T: NSCoding>(_ object: T) throws -> Data {
        let isSecure = (T.self as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
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
        // What cannot be read is not written.
        _ = try ArchiveGraph(data)
        return data
    }

    /// The object of an archive.
    ///
    /// - Parameters:
    ///   - data: What ``encode(_:)`` or Apple's `NSKeyedArchiver` wrote, or anything at all.
    ///   - type: The class of the object, or one that its class derives from.
    /// - Returns: The object; only its class decides whether it can be changed.
    /// - Throws: `.typeConversionFailed` if `data` is no archive of such an object.
    static func decode<T: NSCoding>(_ data: Data, as type: T.Type) throws -> T {
        let graph = try ArchiveGraph(data)
        guard let wanted = type as Any as? AnyClass else {
            throw SecureStorageError.typeConversionFailed
        }
        let isSecure = (type as? any NSSecureCoding.Type)?.supportsSecureCoding ?? false
        #if canImport(ObjectiveC)
            _ = graph  // it was for the check; Foundation reads the data itself
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
                // The elements of a collection are looked for among the same classes.
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
