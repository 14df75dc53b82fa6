#if !canImport(ObjectiveC)
    internal import Foundation

    /// What is in Foundation's collections.
    enum CollectionContents {
        // An element that Foundation hands out on Linux is bridged to a Swift value, with all that
        // it contains: this never ends for a collection that contains itself, ends the process for
        // a URL without text, and makes many objects of one that is shared. The mirrors of the
        // collections show what is stored.

        /// The elements of an array, as they are; nil for a class with a storage of its own.
        static func elements(of array: NSArray) -> [AnyObject]? {
            guard type(of: array) == NSArray.self || type(of: array) == NSMutableArray.self else {
                return nil
            }
            return unboxed(Mirror(reflecting: array), count: array.count)
        }

        /// The elements of a set, as they are; nil for a class with a storage of its own.
        static func elements(of set: NSSet) -> [AnyObject]? {
            guard type(of: set) == NSSet.self || type(of: set) == NSMutableSet.self else {
                return nil
            }
            return unboxed(Mirror(reflecting: set), count: set.count)
        }

        /// The elements of an ordered set, as they are; nil for a class with a storage of its own.
        static func elements(of set: NSOrderedSet) -> [AnyObject]? {
            // Its own mirror bridges. That of a superclass does not, and a mutable one has it.
            guard type(of: set) == NSOrderedSet.self || type(of: set) == NSMutableOrderedSet.self,
                let copy = set.mutableCopy() as? NSMutableOrderedSet,
                let fields = Mirror(copy, children: [:], ancestorRepresentation: .generated)
                    .superclassMirror,
                let stored = fields.children.first(where: { $0.label == "_orderedStorage" }),
                let array = stored.value as? NSArray, array.count == set.count
            else { return nil }
            return elements(of: array)
        }

        /// The keys and values of a dictionary, as they are; nil for a class with a storage of its
        /// own.
        static func pairs(
            of dictionary: NSDictionary
        ) -> (keys: [AnyObject], values: [AnyObject])? {
            guard
                type(of: dictionary) == NSDictionary.self
                    || type(of: dictionary) == NSMutableDictionary.self
            else { return nil }
            var keys: [AnyObject] = []
            var values: [AnyObject] = []
            for child in Mirror(reflecting: dictionary).children {
                guard let (key, value) = child.value as? (NSObject, AnyObject) else { return nil }
                keys.append(unboxed(key))
                values.append(unboxed(value))
            }
            return keys.count == dictionary.count ? (keys, values) : nil
        }

        /// An object of the app's that is no `NSObject`, out of the box that it is stored in.
        static func unboxed(_ object: AnyObject) -> AnyObject {
            (object as? any NSCoding).map { $0 as AnyObject } ?? object
        }

        /// Refuses a URL that could not be read: Swift's type takes fewer texts than `NSURL`, and
        /// bridging to it ends the process.
        static func check(_ url: NSURL) throws {
            guard URL(string: url.absoluteString, relativeTo: url.baseURL) != nil else {
                throw SecureStorageError.typeConversionFailed
            }
        }

        private static func unboxed(_ mirror: Mirror, count: Int) -> [AnyObject]? {
            let elements = mirror.children.map { unboxed($0.value as AnyObject) }
            return elements.count == count ? elements : nil
        }
    }
#endif
