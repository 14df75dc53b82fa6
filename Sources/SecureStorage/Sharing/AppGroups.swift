internal import SecureStoragePlatform

#if canImport(Darwin)
    public import Foundation
#else
    internal import Foundation
#endif

/// Keeps the processes of an app group off a file while one of them creates or opens it.
///
/// Other platforms need nothing here: a process that creates a file holds its lock file, see
/// `DatabaseFile.withCreationLock`, and one that migrates it holds its write lock.
enum FileCoordination {
    #if canImport(Darwin)
        static func writing<R>(_ url: URL, _ body: (URL) throws -> R) throws -> R {
            try coordinate(body) { coordinator, error, accessor in
                coordinator.coordinate(
                    writingItemAt: url, options: .forMerging, error: error, byAccessor: accessor)
            }
        }

        static func reading<R>(_ url: URL, _ body: (URL) throws -> R) throws -> R {
            try coordinate(body) { coordinator, error, accessor in
                coordinator.coordinate(
                    readingItemAt: url, options: .withoutChanges, error: error,
                    byAccessor: accessor)
            }
        }

        private static func coordinate<R>(
            _ body: (URL) throws -> R,
            _ start: (NSFileCoordinator, NSErrorPointer, (URL) -> Void) -> Void
        ) throws -> R {
            var outcome: Result<R, any Error>?
            var refusal: NSError?
            start(NSFileCoordinator(filePresenter: nil), &refusal) { url in
                outcome = Result { try body(url) }
            }
            guard let outcome else { throw refusal ?? CocoaError(.fileReadUnknown) }
            return try outcome.get()
        }
    #else
        static func writing<R>(_ url: URL, _ body: (URL) throws -> R) throws -> R { try body(url) }

        static func reading<R>(_ url: URL, _ body: (URL) throws -> R) throws -> R { try body(url) }
    #endif
}

#if canImport(Darwin)
    extension SharedDatabase {
        /// Returns the directory of an app group, in which its apps and extensions share files.
        ///
        /// - Parameters:
        ///   - identifier: The group's identifier, as in the entitlement
        ///     `com.apple.security.application-groups`.
        ///   - name: A directory in it, which is created if it does not exist.
        /// - Returns: The directory.
        /// - Throws: `.openFailed` code `.cannotOpen` if the app does not belong to the group, or
        ///   the directory cannot be created.
        ///
        /// The system's function is
        /// `FileManager.containerURL(forSecurityApplicationGroupIdentifier:)`.
        public static func directory(
            appGroup identifier: String, named name: String = "Database"
        ) throws -> URL {
            guard let container = StandardDirectories.container(ofAppGroup: identifier) else {
                throw SecureStorageError.openFailed(
                    code: ResultCode.cannotOpen.rawValue,
                    message:
                        "no container exists for the app group \(identifier): add the group to "
                        + "the entitlements of the app and of each extension")
            }
            return try make(container.appendingPathComponent(name, isDirectory: true))
        }
    }
#endif
